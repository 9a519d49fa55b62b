// expect: deadlock
// points: sync
// build: c
// A thread prints while it holds a mutex, another one takes the mutex while it holds the lock of the file.
#include "../threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *print(void *unused) {
    must(pthread_mutex_lock(&mutex));
    printf("%s\n", "one line");
    must(pthread_mutex_unlock(&mutex));
    return unused;
}

static void *print_lines(void *unused) {
    flockfile(stdout);
    must(pthread_mutex_lock(&mutex));
    puts("another line");
    must(pthread_mutex_unlock(&mutex));
    funlockfile(stdout);
    return unused;
}

int main(void) {
    pthread_t a = start(print, NULL), b = start(print_lines, NULL);
    join(a);
    join(b);
    return 0;
}
