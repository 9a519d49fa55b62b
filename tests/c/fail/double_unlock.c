// expect: misuse
// points: sync
// build: c
// The early return from a critical section unlocks, and so does its end.
#include "../threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ready, missed;

static void *prepare(void *unused) {
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *use(void *unused) {
    pthread_mutex_lock(&mutex);
    if (!ready) {
        missed++;
        pthread_mutex_unlock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t a = start(prepare, NULL), b = start(use, NULL);
    join(a);
    join(b);
    return 0;
}
