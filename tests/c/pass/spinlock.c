// expect: pass
// points: shared
// build: c
// Two threads count under a spin lock.
#include "../threads.h"
#include <assert.h>
#include <errno.h>

static pthread_spinlock_t lock;
static int x;

static void *count(void *unused) {
    for (int i = 0; i < 3; i++) {
        pthread_spin_lock(&lock);
        x++;
        pthread_spin_unlock(&lock);
    }
    return unused;
}

static void *cannot_lock(void *unused) {
    assert(pthread_spin_trylock(&lock) == EBUSY);
    return unused;
}

int main(void) {
    must(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
    pthread_t a = start(count, NULL), b = start(count, NULL);
    join(a);
    join(b);
    assert(x == 6);
    must(pthread_spin_trylock(&lock));
    join(start(cannot_lock, NULL));
    must(pthread_spin_unlock(&lock));
    must(pthread_spin_destroy(&lock));
    return 0;
}
