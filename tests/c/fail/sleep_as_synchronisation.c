// expect: assertion
// points: sync
// build: c
// The worker has half a millisecond for its work, which suffices in most runs.
#include "../threads.h"
#include <assert.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *work(void *unused) {
    pthread_mutex_lock(&mutex);
    done = 1;
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t worker = start(work, NULL);
    usleep(500);
    pthread_mutex_lock(&mutex);
    int seen = done;
    pthread_mutex_unlock(&mutex);
    assert(seen);
    join(worker);
    return 0;
}
