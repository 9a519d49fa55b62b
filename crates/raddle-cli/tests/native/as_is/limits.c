/* A program with a limit of two seconds: `alarm` without a handler. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static void *other(void *unused) {
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return unused;
}

int main(int count, char **words) {
    const char *mode = count > 1 ? words[1] : "";
    alarm(2);
    if (strcmp(mode, "deadlock") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, other, NULL);
        pthread_mutex_lock(&first);
        pthread_mutex_lock(&second);
        pthread_mutex_unlock(&second);
        pthread_mutex_unlock(&first);
        pthread_join(thread, NULL);
    } else if (strcmp(mode, "pause") == 0) {
        pause();
    } else if (strcmp(mode, "late") == 0) {
        sleep(10);
    } else if (strcmp(mode, "in-time") == 0) {
        sleep(1);
    } else if (strcmp(mode, "busy") == 0) {
        struct timespec now;
        do
            clock_gettime(CLOCK_MONOTONIC, &now);
        while (1);
    }
    return 0;
}
