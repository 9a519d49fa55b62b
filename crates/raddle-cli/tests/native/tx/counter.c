// A counter whose operation reads and writes it separately, so that increments are lost unless the operation is atomic.
// Arguments: increments of each of two threads in a round, and rounds. The first round with a lost increment ends it, unless
// there is a third argument.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static long counter;
static long increments = 1;

void increment(void) {
    long seen = counter;
    counter = seen + 1;
}

static void *work(void *unused) {
    for (long i = 0; i < increments; i++) increment();
    return unused;
}

int main(int argc, char **argv) {
    if (argc > 1) increments = atol(argv[1]);
    for (long round = argc > 2 ? atol(argv[2]) : 1; round > 0; round--) {
        pthread_t threads[2];
        counter = 0;
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
        assert(argc > 3 || counter == 2 * increments);
    }
}
