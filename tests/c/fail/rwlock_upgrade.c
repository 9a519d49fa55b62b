// expect: deadlock
// points: sync
// build: c
// A reader that finds the cache empty requests the lock for writing while it holds it for reading.
#include "../threads.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int cached;

static void *fill(void *unused) {
    pthread_rwlock_wrlock(&lock);
    cached = 1;
    pthread_rwlock_unlock(&lock);
    return unused;
}

static void *look(void *unused) {
    pthread_rwlock_rdlock(&lock);
    if (!cached) {
        pthread_rwlock_wrlock(&lock);
        cached = 1;
    }
    pthread_rwlock_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t a = start(fill, NULL), b = start(look, NULL);
    join(a);
    join(b);
    return 0;
}
