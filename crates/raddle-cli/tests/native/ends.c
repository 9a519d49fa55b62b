// Ends in the way that its argument names, while another thread runs or after the main thread has ended.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int gone;

static void leave(void) {
    pthread_mutex_lock(&lock);
    gone = 1;
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    // Fails only if the thread runs between the end of `main` and the end of the program.
    assert(!gone);
    pthread_mutex_unlock(&lock);
    puts("worked");
    return arg;
}

int main(int argc, char **argv) {
    pthread_t a;
    const char *way = argc > 1 ? argv[1] : "";
    if (!strcmp(way, "return")) atexit(leave);
    pthread_create(&a, NULL, work, NULL);
    if (!strcmp(way, "pthread_exit")) pthread_exit(NULL);
    if (!strcmp(way, "_exit")) _exit(3);
    return 0;
}
