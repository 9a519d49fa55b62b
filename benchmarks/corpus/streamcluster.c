// A master opens a gate for each phase and closes it after a barrier. The first worker to return finds the gate of the
// last phase still open; a second barrier would have stopped it.
#include "corpus.h"

enum { WORKERS = 3, PHASES = 2 };

static lock_t mutex = LOCK_INIT;
static pthread_cond_t gate = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static volatile bool open;
static volatile int phase;

static void *work(void *unused) {
    for (int i = 1; i <= PHASES; i++) {
        lock(&mutex);
        while (!open) pthread_cond_wait(&gate, &mutex);
        unlock(&mutex);
        assert(phase == i);
        pthread_barrier_wait(&barrier);
#ifdef FIXED
        pthread_barrier_wait(&barrier);
#endif
    }
    return unused;
}

int main(void) {
    pthread_t threads[WORKERS];
    must(pthread_barrier_init(&barrier, NULL, WORKERS + 1));
    for (int i = 0; i < WORKERS; i++) threads[i] = start(work, NULL);
    for (int i = 1; i <= PHASES; i++) {
        lock(&mutex);
        phase = i;
        open = true;
        pthread_cond_broadcast(&gate);
        unlock(&mutex);
        pthread_barrier_wait(&barrier);
        lock(&mutex);
        open = false;
        unlock(&mutex);
#ifdef FIXED
        pthread_barrier_wait(&barrier);
#endif
    }
    for (int i = 0; i < WORKERS; i++) join(threads[i]);
    return 0;
}
