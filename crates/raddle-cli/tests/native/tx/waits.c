// Not lock-free: `take` waits until the other thread has called `give`.
#include <pthread.h>

static int ready;

void take(void) {
    while (!__atomic_load_n(&ready, __ATOMIC_SEQ_CST)) {}
}

void give(void) { __atomic_store_n(&ready, 1, __ATOMIC_SEQ_CST); }

static void *taker(void *unused) {
    take();
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, taker, 0);
    give();
    pthread_join(thread, 0);
}
