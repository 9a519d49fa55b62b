// expect: deadlock
// points: sync
// build: c
// Two transfers in opposite directions; each thread locks its own account first.
#include "../threads.h"
#include <assert.h>

static pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
static int first = 100, second = 100;

static void *forth(void *unused) {
    pthread_mutex_lock(&m1);
    pthread_mutex_lock(&m2);
    first -= 10;
    second += 10;
    pthread_mutex_unlock(&m2);
    pthread_mutex_unlock(&m1);
    return unused;
}

static void *back(void *unused) {
    pthread_mutex_lock(&m2);
    pthread_mutex_lock(&m1);
    second -= 20;
    first += 20;
    pthread_mutex_unlock(&m1);
    pthread_mutex_unlock(&m2);
    return unused;
}

int main(void) {
    pthread_t a = start(forth, NULL), b = start(back, NULL);
    join(a);
    join(b);
    assert(first + second == 200);
    return 0;
}
