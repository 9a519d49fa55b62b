// Passes a pointer to no object to a function of pthreads, in a separate thread.
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *volatile object;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *use(void *way) {
    if (!strcmp(way, "mutex")) pthread_mutex_lock(object);
    if (!strcmp(way, "unlock")) pthread_mutex_unlock(object);
    if (!strcmp(way, "rwlock")) pthread_rwlock_rdlock(object);
    if (!strcmp(way, "cond")) pthread_cond_signal(object);
    if (!strcmp(way, "cond_wait")) {
        pthread_mutex_lock(&mutex);
        pthread_cond_wait(object, &mutex);
    }
    if (!strcmp(way, "cond_mutex")) pthread_cond_wait(&condition, object);
    if (!strcmp(way, "sem")) sem_wait(object);
    if (!strcmp(way, "post")) sem_post(object);
    if (!strcmp(way, "barrier")) pthread_barrier_wait(object);
    if (!strcmp(way, "spin")) pthread_spin_lock(object);
    if (!strcmp(way, "once")) pthread_once(object, abort);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc < 3) return 1;
    object = (void *)(uintptr_t)strtoull(argv[2], NULL, 0);
    pthread_create(&thread, NULL, use, argv[1]);
    pthread_join(thread, NULL);
    return 0;
}
