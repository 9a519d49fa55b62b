// expect: pass
// points: shared
// build: c
// A bounded queue with two producers and two consumers.
#include "../threads.h"
#include <assert.h>

enum { CAPACITY = 2, EACH = 3 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int queue[CAPACITY], length, sum;

static void *produce(void *base) {
    for (int i = 1; i <= EACH; i++) {
        pthread_mutex_lock(&mutex);
        while (length == CAPACITY) pthread_cond_wait(&not_full, &mutex);
        queue[length++] = *(int *)base + i;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *consume(void *unused) {
    for (int i = 0; i < EACH; i++) {
        pthread_mutex_lock(&mutex);
        while (length == 0) pthread_cond_wait(&not_empty, &mutex);
        sum += queue[--length];
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(void) {
    int bases[] = {0, 100};
    pthread_t threads[] = {
        start(produce, &bases[0]), start(produce, &bases[1]), start(consume, NULL), start(consume, NULL)};
    for (int i = 0; i < 4; i++) join(threads[i]);
    assert(length == 0 && sum == 312);
    return 0;
}
