/* A ring for one producer and one consumer: the producer publishes its index with a relaxed store. */
#include "weak.h"

enum { SLOTS = 2, ITEMS = 3 };

static atomic_int slots[SLOTS], head, tail;

static void *produce(void *unused) {
    for (int i = 0; i < ITEMS; i++) {
        while (i - load(&head, acquire) == SLOTS)
            ;
        store(&slots[i % SLOTS], 10 + i, relaxed);
        store(&tail, i + 1, RIGHTLY(release, relaxed));
    }
    return 0;
}

static void *consume(void *unused) {
    for (int i = 0; i < ITEMS; i++) {
        while (load(&tail, acquire) == i)
            ;
        assert(load(&slots[i % SLOTS], relaxed) == 10 + i);
        store(&head, i + 1, release);
    }
    return 0;
}

int main(void) { both(produce, consume); }
