// Detached threads: a check that fails if it comes last or, with an argument, one that prints a line.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int first, second;

static void *set(void *value) {
    pthread_mutex_lock(&mutex);
    *(int *)value = 1;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *check(void *unused) {
    pthread_mutex_lock(&mutex);
    assert(!(first && second));
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *print(void *unused) {
    pthread_mutex_lock(&mutex);
    puts("done");
    fflush(stdout);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(int count, char **words) {
    (void)words;
    pthread_t thread;
    if (count > 1) return pthread_create(&thread, NULL, print, NULL);
    return pthread_create(&thread, NULL, check, NULL) || pthread_create(&thread, NULL, set, &first)
        || pthread_create(&thread, NULL, set, &second);
}
