/* Shared by the programs with a work-stealing queue: records which thread has taken which item. */
#ifndef ITEMS_H
#define ITEMS_H

#include "corpus.h"
#include <sched.h>
#include <stdatomic.h>

enum { ITEMS = 4, STEALERS = 2, STEALS = 2, NONE = -1 };

static atomic_int taken[ITEMS];

static inline void take(int item) {
    if (item != NONE) assert(atomic_fetch_add(&taken[item], 1) == 0);
}

static inline void assert_all_taken(void) {
    for (int i = 0; i < ITEMS; i++) assert(atomic_load(&taken[i]) == 1);
}

#endif
