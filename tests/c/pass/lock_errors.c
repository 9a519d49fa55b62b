// expect: pass
// points: sync
// build: c
// Locks that report errors or ended owners, as in glibc.
#include "../threads.h"
#include <assert.h>
#include <errno.h>
#include <time.h>

static pthread_mutex_t robust;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int asked;

static void *ends_with_it(void *unused) {
    int error = pthread_mutex_lock(&robust);
    if (error == EOWNERDEAD) must(pthread_mutex_consistent(&robust));
    else must(error);
    return unused;
}

static void *ends_after_a_wait(void *unused) {
    must(pthread_mutex_lock(&robust));
    while (!asked) must(pthread_cond_wait(&condition, &robust));
    return unused;
}

static void orphans(void) {
    pthread_mutexattr_t attributes;
    must(pthread_mutexattr_init(&attributes));
    must(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
    must(pthread_mutex_init(&robust, &attributes));
    pthread_t first = start(ends_with_it, NULL), second = start(ends_with_it, NULL);
    int error = pthread_mutex_lock(&robust);
    assert(error == 0 || error == EOWNERDEAD);
    if (error != 0) {
        assert(pthread_mutex_consistent(&robust) == 0);
        assert(pthread_mutex_consistent(&robust) == EINVAL);
    }
    must(pthread_mutex_unlock(&robust));
    join(first), join(second);
    join(start(ends_with_it, NULL));
    assert(pthread_mutex_trylock(&robust) == EOWNERDEAD);
    must(pthread_mutex_unlock(&robust));
    assert(pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
    must(pthread_mutex_destroy(&robust));
    must(pthread_mutex_init(&robust, &attributes));
    pthread_t third = start(ends_after_a_wait, NULL);
    must(pthread_mutex_lock(&robust));
    asked = 1;
    must(pthread_cond_signal(&condition));
    must(pthread_mutex_unlock(&robust));
    join(third);
    assert(pthread_mutex_lock(&robust) == EOWNERDEAD);
    must(pthread_mutex_consistent(&robust));
    must(pthread_mutex_unlock(&robust));
}

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *reading(void *unused) {
    must(pthread_rwlock_rdlock(&lock));
    must(pthread_rwlock_unlock(&lock));
    return unused;
}

static void own_locks(void) {
    pthread_t reader = start(reading, NULL);
    must(pthread_rwlock_wrlock(&lock));
    assert(pthread_rwlock_wrlock(&lock) == EDEADLK);
    assert(pthread_rwlock_rdlock(&lock) == EDEADLK);
    assert(pthread_rwlock_trywrlock(&lock) == EBUSY);
    must(pthread_rwlock_unlock(&lock));
    join(reader);
    must(pthread_rwlock_trywrlock(&lock));
    assert(pthread_rwlock_wrlock(&lock) == EDEADLK);
    must(pthread_rwlock_unlock(&lock));
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void wrong_times(void) {
    struct timespec wrong = {0, 2000000000};
    must(pthread_mutex_timedlock(&mutex, &wrong));
    assert(pthread_mutex_timedlock(&mutex, &wrong) == EINVAL);
    must(pthread_mutex_unlock(&mutex));
}

int main(void) {
    orphans();
    own_locks();
    wrong_times();
    return 0;
}
