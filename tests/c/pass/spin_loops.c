// expect: pass
// points: shared
// build: c
// Threads that wait by spinning: with sched_yield, with a short sleep, and with nothing.
#include "../threads.h"
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int stage;
static int data;

static void *second(void *unused) {
    while (atomic_load_explicit(&stage, memory_order_acquire) != 1) sched_yield();
    data *= 10;
    atomic_store_explicit(&stage, 2, memory_order_release);
    return unused;
}

static void *third(void *unused) {
    while (atomic_load_explicit(&stage, memory_order_acquire) != 2) usleep(1);
    data += 3;
    atomic_store_explicit(&stage, 3, memory_order_release);
    return unused;
}

int main(void) {
    pthread_t a = start(second, NULL), b = start(third, NULL);
    data = 4;
    atomic_store_explicit(&stage, 1, memory_order_release);
    while (atomic_load_explicit(&stage, memory_order_acquire) != 3) {
    }
    assert(data == 43);
    join(a);
    join(b);
    return 0;
}
