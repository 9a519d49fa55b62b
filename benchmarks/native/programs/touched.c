// As `tiny.c`, but with 64 MB of memory that was written before `main`.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *heap;

__attribute__((constructor)) static void touch(void) {
    heap = malloc(64 << 20);
    if (heap) memset(heap, 1, 64 << 20);
}

static void *add(void *unused) {
    pthread_mutex_lock(&mutex);
    heap[20 << 20]++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, add, NULL);
    add(NULL);
    pthread_join(thread, NULL);
    return heap[20 << 20] != 3;
}
