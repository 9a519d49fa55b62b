// expect: pass
// points: shared
// build: c
// Peterson's lock for two threads, with sequentially consistent atomics.
#include "../threads.h"
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int wants[2], turn;
static int x;

static void *count(void *number) {
    size_t own = (size_t)number;
    atomic_store(&wants[own], 1);
    atomic_store(&turn, (int)(1 - own));
    while (atomic_load(&wants[1 - own]) && atomic_load(&turn) != (int)own) sched_yield();
    x++;
    atomic_store(&wants[own], 0);
    return NULL;
}

int main(void) {
    pthread_t a = start(count, (void *)0), b = start(count, (void *)1);
    join(a);
    join(b);
    assert(x == 2);
    return 0;
}
