// expect: pass
// points: sync
// build: c
// Other ways to join: try, and with a time limit.
#include "../threads.h"
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <time.h>

static sem_t go;

static void *work(void *result) {
    sem_wait(&go);
    return result;
}

int main(void) {
    must(sem_init(&go, 0, 0));
    struct timespec past = {1, 0}, far;
    clock_gettime(CLOCK_REALTIME, &far);
    far.tv_sec += 1000;
    void *result;
    pthread_t a = start(work, (void *)3), b = start(work, (void *)4);
    assert(pthread_tryjoin_np(a, &result) == EBUSY);
    assert(pthread_timedjoin_np(b, &result, &past) == ETIMEDOUT);
    sem_post(&go);
    sem_post(&go);
    must(pthread_timedjoin_np(a, &result, &far));
    assert(result == (void *)3);
    int error;
    while ((error = pthread_tryjoin_np(b, &result)) == EBUSY) {
        struct timespec moment = {0, 1000};
        nanosleep(&moment, NULL);
    }
    assert(error == 0 && result == (void *)4);
    return 0;
}
