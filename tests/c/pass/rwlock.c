// expect: pass
// points: shared
// build: c
// Readers see both halves of a write; attempts and time-outs fail as they should.
#include "../threads.h"
#include <assert.h>
#include <errno.h>
#include <time.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int left, right;

static void *write_both(void *unused) {
    must(pthread_rwlock_wrlock(&lock));
    left++;
    right++;
    must(pthread_rwlock_unlock(&lock));
    return unused;
}

static void *read_both(void *unused) {
    must(pthread_rwlock_rdlock(&lock));
    assert(left == right);
    must(pthread_rwlock_unlock(&lock));
    if (pthread_rwlock_tryrdlock(&lock) == 0) {
        assert(left == right);
        must(pthread_rwlock_unlock(&lock));
    }
    return unused;
}

static void *cannot_write(void *unused) {
    struct timespec past = {1, 0};
    assert(pthread_rwlock_trywrlock(&lock) == EBUSY);
    assert(pthread_rwlock_timedwrlock(&lock, &past) == ETIMEDOUT);
    return unused;
}

int main(void) {
    must(pthread_rwlock_rdlock(&lock));
    join(start(cannot_write, NULL));
    must(pthread_rwlock_unlock(&lock));
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) threads[i] = start(i < 2 ? write_both : read_both, NULL);
    for (int i = 0; i < 4; i++) join(threads[i]);
    assert(left == 2 && right == 2);
    must(pthread_rwlock_destroy(&lock));
    return 0;
}
