// N philosophers each take the fork on their left and then the one on their right.
#include "corpus.h"

static lock_t forks[N];

static void *dine(void *argument) {
    long me = (long)argument;
    long left = me, right = (me + 1) % N;
#ifdef FIXED
    if (left > right) {
        left = right;
        right = me;
    }
#endif
    lock(&forks[left]);
    lock(&forks[right]);
    unlock(&forks[right]);
    unlock(&forks[left]);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++) must(pthread_mutex_init(&forks[i], NULL));
    for (long i = 0; i < N; i++) threads[i] = start(dine, (void *)i);
    for (int i = 0; i < N; i++) join(threads[i]);
    return 0;
}
