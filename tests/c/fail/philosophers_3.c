// expect: deadlock
// points: sync
// build: c
// Three philosophers; each takes the fork on the left first.
#include "../threads.h"

enum { N = 3 };
static pthread_mutex_t forks[N] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *eat(void *seat) {
    size_t i = (size_t)seat;
    pthread_mutex_lock(&forks[i]);
    pthread_mutex_lock(&forks[(i + 1) % N]);
    pthread_mutex_unlock(&forks[(i + 1) % N]);
    pthread_mutex_unlock(&forks[i]);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (size_t i = 0; i < N; i++) threads[i] = start(eat, (void *)i);
    for (size_t i = 0; i < N; i++) join(threads[i]);
    return 0;
}
