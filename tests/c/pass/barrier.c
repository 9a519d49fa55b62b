// expect: pass
// points: shared
// build: c
// Three threads compute in rounds: all write, then all read the others' values. One thread of each round is the serial one.
#include "../threads.h"
#include <assert.h>
#include <stdatomic.h>

enum { N = 3, ROUNDS = 2 };
static pthread_barrier_t barrier;
static int cells[N];
static atomic_int serial;

static void *work(void *number) {
    size_t own = (size_t)number;
    for (int round = 1; round <= ROUNDS; round++) {
        cells[own] = round;
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) atomic_fetch_add(&serial, 1);
        for (size_t i = 0; i < N; i++) assert(cells[i] == round);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void) {
    must(pthread_barrier_init(&barrier, NULL, N));
    pthread_t threads[N];
    for (size_t i = 0; i < N; i++) threads[i] = start(work, (void *)i);
    for (size_t i = 0; i < N; i++) join(threads[i]);
    assert(atomic_load(&serial) == ROUNDS);
    must(pthread_barrier_destroy(&barrier));
    return 0;
}
