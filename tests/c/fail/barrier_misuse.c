// expect: deadlock
// points: sync
// build: c
// A worker that sees the stop request returns without waiting at the barrier.
#include "../threads.h"

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int stop;

static void *work(void *unused) {
    pthread_mutex_lock(&mutex);
    int leave = stop;
    pthread_mutex_unlock(&mutex);
    if (!leave) pthread_barrier_wait(&barrier);
    return unused;
}

static void *request(void *unused) {
    pthread_mutex_lock(&mutex);
    stop = 1;
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    must(pthread_barrier_init(&barrier, NULL, 2));
    pthread_t a = start(request, NULL), b = start(work, NULL), c = start(work, NULL);
    join(a);
    join(b);
    join(c);
    return 0;
}
