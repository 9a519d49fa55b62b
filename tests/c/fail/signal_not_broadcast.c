// expect: deadlock
// points: sync
// build: c
// Two threads wait for the same flag, and one signal is sent. It suffices only if one of them comes late.
#include "../threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *await(void *unused) {
    pthread_mutex_lock(&mutex);
    while (!ready) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *announce(void *unused) {
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&changed);
    return unused;
}

int main(void) {
    pthread_t c = start(announce, NULL);
    pthread_t a = start(await, NULL), b = start(await, NULL);
    join(a);
    join(b);
    join(c);
    return 0;
}
