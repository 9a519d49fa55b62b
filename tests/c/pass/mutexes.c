// expect: pass
// points: shared
// build: c
// All types of mutexes, and all ways to lock them.
#include "../threads.h"
#include <assert.h>
#include <errno.h>
#include <time.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive, checked;
static int sum, deep;

static struct timespec soon(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += 1000;
    return time;
}

static void *work(void *unused) {
    struct timespec real = soon(CLOCK_REALTIME), steady = soon(CLOCK_MONOTONIC);
    must(pthread_mutex_lock(&plain));
    sum++;
    must(pthread_mutex_unlock(&plain));
    must(pthread_mutex_timedlock(&plain, &real));
    sum++;
    must(pthread_mutex_unlock(&plain));
    must(pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &steady));
    sum++;
    must(pthread_mutex_unlock(&plain));

    int got = pthread_mutex_trylock(&recursive);
    assert(got == 0 || got == EBUSY);
    if (got == EBUSY) must(pthread_mutex_lock(&recursive));
    must(pthread_mutex_lock(&recursive));
    deep++;
    must(pthread_mutex_unlock(&recursive));
    must(pthread_mutex_unlock(&recursive));

    must(pthread_mutex_lock(&checked));
    assert(pthread_mutex_lock(&checked) == EDEADLK);
    must(pthread_mutex_unlock(&checked));
    assert(pthread_mutex_unlock(&checked) == EPERM);
    return unused;
}

static void *try_expired(void *unused) {
    struct timespec past = {1, 0};
    assert(pthread_mutex_timedlock(&plain, &past) == ETIMEDOUT);
    assert(pthread_mutex_trylock(&plain) == EBUSY);
    return unused;
}

int main(void) {
    pthread_mutexattr_t kind;
    must(pthread_mutexattr_init(&kind));
    must(pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE));
    must(pthread_mutex_init(&recursive, &kind));
    must(pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK));
    must(pthread_mutex_init(&checked, &kind));
    must(pthread_mutexattr_destroy(&kind));
    must(pthread_mutex_lock(&plain));
    join(start(try_expired, NULL));
    must(pthread_mutex_unlock(&plain));
    pthread_t a = start(work, NULL), b = start(work, NULL);
    join(a);
    join(b);
    assert(sum == 6 && deep == 2);
    must(pthread_mutex_destroy(&recursive));
    must(pthread_mutex_destroy(&checked));
    must(pthread_mutex_destroy(&plain));
    return 0;
}
