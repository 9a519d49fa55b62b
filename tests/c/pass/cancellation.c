// expect: pass
// points: sync
// build: c
// Threads cancelled in a wait, at a test, and not before they allow it; handlers release locks.
#include "../threads.h"
#include <assert.h>
#include <semaphore.h>
#include <stdatomic.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t empty;
static atomic_int handled;

static void give_back(void *lock) {
    atomic_fetch_add(&handled, 1);
    must(pthread_mutex_unlock(lock));
}

static void *wait_for_ever(void *unused) {
    must(pthread_mutex_lock(&mutex));
    pthread_cleanup_push(give_back, &mutex);
    for (;;) pthread_cond_wait(&never, &mutex);
    pthread_cleanup_pop(0);
    return unused;
}

static void *not_yet(void *finished) {
    int old;
    must(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    pthread_testcancel();
    *(int *)finished = 1;
    must(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    for (;;) sem_wait(&empty);
    return NULL;
}

int main(void) {
    int finished = 0;
    must(sem_init(&empty, 0, 0));
    pthread_t a = start(wait_for_ever, NULL);
    must(pthread_cancel(a));
    assert(join(a) == PTHREAD_CANCELED);
    assert(atomic_load(&handled) == 1);
    must(pthread_mutex_lock(&mutex));
    must(pthread_mutex_unlock(&mutex));
    pthread_t b = start(not_yet, &finished);
    must(pthread_cancel(b));
    assert(join(b) == PTHREAD_CANCELED && finished == 1);
    return 0;
}
