// expect: pass
// points: shared
// build: c
// Two threads nest their locks of one recursive mutex.
#include "../threads.h"
#include <assert.h>

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int depth, total;

static void descend(int levels) {
    must(pthread_mutex_lock(&mutex));
    depth++;
    total++;
    if (levels > 1) descend(levels - 1);
    depth--;
    must(pthread_mutex_unlock(&mutex));
}

static void *work(void *unused) {
    descend(3);
    return unused;
}

int main(void) {
    pthread_t a = start(work, NULL), b = start(work, NULL);
    join(a);
    join(b);
    assert(depth == 0 && total == 6);
    return 0;
}
