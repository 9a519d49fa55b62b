// Main and a worker each do BLOCKS blocks of work. The macro with which main waits for the end does not wait, and main
// reads the result too early.
#include "corpus.h"
#include <sched.h>

#ifdef FIXED
#define WAIT_FOR_END(thread) join(thread)
#else
#define WAIT_FOR_END(thread) ((void)(thread))
#endif

static lock_t mutex = LOCK_INIT;
static volatile bool begun;
static volatile int done;

static void *work(void *unused) {
    begun = true;
    for (int i = 0; i < BLOCKS; i++) {
        lock(&mutex);
        done++;
        unlock(&mutex);
    }
    return unused;
}

int main(void) {
    pthread_t worker = start(work, NULL);
    while (!begun) sched_yield();
    work(NULL);
    WAIT_FOR_END(worker);
    assert(done == 2 * BLOCKS);
    return 0;
}
