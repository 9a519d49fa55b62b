// Two threads take two locks in opposite order.
#include "corpus.h"

static lock_t a = LOCK_INIT, b = LOCK_INIT;
static volatile int counter = 1;

static void count(lock_t *first, lock_t *second, int by) {
    lock(first);
    lock(second);
    counter += by;
    unlock(second);
    unlock(first);
}

static void *up(void *unused) {
    count(&a, &b, 1);
    return unused;
}

static void *down(void *unused) {
#ifdef FIXED
    count(&a, &b, -1);
#else
    count(&b, &a, -1);
#endif
    return unused;
}

int main(void) {
    pthread_t first = start(up, NULL), second = start(down, NULL);
    join(first);
    join(second);
    return 0;
}
