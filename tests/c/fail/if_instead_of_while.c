// expect: assertion
// points: sync
// build: c
// A woken consumer does not check again whether an item is left.
#include "../threads.h"
#include <assert.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items;

static void *consume(void *unused) {
    pthread_mutex_lock(&mutex);
    if (items == 0) pthread_cond_wait(&filled, &mutex);
    assert(items > 0);
    items--;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *produce(void *unused) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&mutex);
        items++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(void) {
    pthread_t c = start(produce, NULL);
    pthread_t a = start(consume, NULL), b = start(consume, NULL);
    join(a);
    join(b);
    join(c);
    return 0;
}
