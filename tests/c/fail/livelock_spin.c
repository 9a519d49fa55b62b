// expect: step-limit
// points: shared
// build: c
// Setting the flag and resetting it are in the wrong order in some runs; then main spins forever.
#include "../threads.h"
#include <sched.h>
#include <stdatomic.h>

static atomic_int flag;

static void *set(void *unused) {
    atomic_store(&flag, 1);
    return unused;
}

static void *reset(void *unused) {
    atomic_store(&flag, 0);
    return unused;
}

int main(void) {
    pthread_t a = start(reset, NULL), b = start(set, NULL);
    join(a);
    while (!atomic_load(&flag)) sched_yield();
    join(b);
    return 0;
}
