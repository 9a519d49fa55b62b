// expect: double-free
// points: sync
// build: c
// Two threads clean up. The pointer is read and cleared in different critical sections.
#include "../threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *buffer;

static void *clean_up(void *unused) {
    pthread_mutex_lock(&mutex);
    char *mine = buffer;
    pthread_mutex_unlock(&mutex);
    free(mine);
    pthread_mutex_lock(&mutex);
    buffer = NULL;
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    buffer = malloc(40);
    pthread_t a = start(clean_up, NULL), b = start(clean_up, NULL);
    join(a);
    join(b);
    return 0;
}
