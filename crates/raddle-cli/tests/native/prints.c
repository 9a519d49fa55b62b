// Prints two lines from two threads, in any order, or with an argument in one order.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *print(void *unused) {
    pthread_mutex_lock(&mutex);
    printf("first\n");
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    (void)argv;
    pthread_create(&thread, NULL, print, NULL);
    if (argc > 1) pthread_join(thread, NULL);
    pthread_mutex_lock(&mutex);
    printf("second\n");
    pthread_mutex_unlock(&mutex);
    if (argc == 1) pthread_join(thread, NULL);
    fprintf(stderr, "to the standard error\n");
    return 0;
}
