// expect: deadlock
// points: sync
// build: c
// A thread is cancelled while it holds a lock, without a handler that releases it.
#include "../threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int work;

static void *worker(void *unused) {
    pthread_mutex_lock(&mutex);
    work++;
    pthread_testcancel();
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t a = start(worker, NULL);
    must(pthread_cancel(a));
    pthread_mutex_lock(&mutex);
    work++;
    pthread_mutex_unlock(&mutex);
    join(a);
    return 0;
}
