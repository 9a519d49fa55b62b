// A signal is sent without the mutex, between the other thread's test and its wait.
#include "corpus.h"
#include <stdatomic.h>

static lock_t mutex = LOCK_INIT;
static pthread_cond_t ready_changed = PTHREAD_COND_INITIALIZER;
static atomic_bool ready;

static void *wait(void *unused) {
    lock(&mutex);
    while (!atomic_load(&ready)) pthread_cond_wait(&ready_changed, &mutex);
    unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t waiter = start(wait, NULL);
#ifdef FIXED
    lock(&mutex);
#endif
    atomic_store(&ready, true);
    pthread_cond_signal(&ready_changed);
#ifdef FIXED
    unlock(&mutex);
#endif
    join(waiter);
    return 0;
}
