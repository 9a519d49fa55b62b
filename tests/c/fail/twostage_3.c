// expect: assertion
// points: sync
// build: c
// Two writers and one reader, which may see the first stage without the second. Every access is locked.
#include "../threads.h"
#include <assert.h>

static pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
static int d1, d2;

static void *write_both(void *unused) {
    int t = 1;
    pthread_mutex_lock(&m1);
    d1 = t;
    pthread_mutex_unlock(&m1);
    pthread_mutex_lock(&m2);
    d2 = t + 1;
    pthread_mutex_unlock(&m2);
    return unused;
}

static void *read_both(void *unused) {
    pthread_mutex_lock(&m1);
    int t = d1;
    pthread_mutex_unlock(&m1);
    if (t == 0) return unused;
    pthread_mutex_lock(&m2);
    int u = d2;
    pthread_mutex_unlock(&m2);
    assert(u == t + 1);
    return unused;
}

int main(void) {
    pthread_t first = start(write_both, NULL), second = start(write_both, NULL), reader = start(read_both, NULL);
    join(first);
    join(second);
    join(reader);
    return 0;
}
