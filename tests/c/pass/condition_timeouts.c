// expect: pass
// points: sync
// build: c
// Waits that time out, on both clocks, and waits that are answered in time.
#include "../threads.h"
#include <assert.h>
#include <errno.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never, changed = PTHREAD_COND_INITIALIZER;
static int ready;

static struct timespec after(clockid_t clock, long nanoseconds, time_t seconds) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += seconds;
    time.tv_nsec += nanoseconds;
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    return time;
}

static void *announce(void *unused) {
    must(pthread_mutex_lock(&mutex));
    ready = 1;
    must(pthread_cond_broadcast(&changed));
    must(pthread_mutex_unlock(&mutex));
    return unused;
}

int main(void) {
    pthread_condattr_t steady;
    must(pthread_condattr_init(&steady));
    must(pthread_condattr_setclock(&steady, CLOCK_MONOTONIC));
    must(pthread_cond_init(&never, &steady));
    must(pthread_condattr_destroy(&steady));
    must(pthread_mutex_lock(&mutex));
    struct timespec end = after(CLOCK_MONOTONIC, 20000, 0);
    int result;
    do result = pthread_cond_timedwait(&never, &mutex, &end);
    while (result == 0);
    assert(result == ETIMEDOUT);
    struct timespec now = after(CLOCK_MONOTONIC, 0, 0);
    assert(now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec));
    end = after(CLOCK_REALTIME, 20000, 0);
    do result = pthread_cond_clockwait(&changed, &mutex, CLOCK_REALTIME, &end);
    while (result == 0);
    assert(result == ETIMEDOUT);

    pthread_t a = start(announce, NULL);
    end = after(CLOCK_REALTIME, 0, 1000);
    while (!ready) must(pthread_cond_timedwait(&changed, &mutex, &end));
    must(pthread_mutex_unlock(&mutex));
    join(a);
    must(pthread_cond_destroy(&never));
    must(pthread_cond_destroy(&changed));
    return 0;
}
