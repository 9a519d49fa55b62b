// Threads that are cancelled in a wait, in a sleep and in a join, and whose handlers release a lock.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int handled, passed;

static void give_back(void *mutex) {
    handled++;
    pthread_mutex_unlock(mutex);
}

static void *wait_for_ever(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(give_back, &lock);
    for (;;) pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(0);
    return arg;
}

static void *sleep_long(void *arg) {
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    pthread_testcancel();
    passed = 1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
    for (;;) sleep(1000);
    return arg;
}

static void *join_it(void *thread) {
    pthread_join(*(pthread_t *)thread, NULL);
    return NULL;
}

int main(void) {
    pthread_t a, b, c;
    void *result;
    pthread_create(&a, NULL, wait_for_ever, NULL);
    pthread_cancel(a);
    assert(pthread_join(a, &result) == 0 && result == PTHREAD_CANCELED && handled == 1);
    assert(pthread_mutex_trylock(&lock) == 0);
    pthread_create(&b, NULL, sleep_long, NULL);
    pthread_create(&c, NULL, join_it, &b);
    pthread_cancel(c);
    assert(pthread_join(c, &result) == 0 && result == PTHREAD_CANCELED);
    pthread_cancel(b);
    assert(pthread_join(b, &result) == 0 && result == PTHREAD_CANCELED && passed == 1);
    return 0;
}
