// Ends while more threads wait than the server creates in advance, and one of them has a stack of its own size.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int started;

static void *await(void *unused) {
    free(malloc(100));
    pthread_mutex_lock(&mutex);
    started++;
    for (;;) pthread_cond_wait(&never, &mutex);
    return unused;
}

int main(void) {
    pthread_t threads[6];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 20);
    for (int index = 0; index < 6; index++) {
        if (pthread_create(&threads[index], index ? NULL : &small, await, NULL) != 0) return 2;
    }
    pthread_mutex_lock(&mutex);
    exit(started > 6);
}
