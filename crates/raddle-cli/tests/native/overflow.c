// A thread overflows its stack.
#include <pthread.h>

static int deeper(volatile char *above) {
    volatile char here[4096];
    here[0] = above[0];
    return deeper(here) + here[0];
}

static void *fall(void *unused) {
    volatile char first = 0;
    deeper(&first);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, fall, NULL);
    pthread_join(thread, NULL);
    return 0;
}
