// expect: misuse
// points: sync
// build: c
// The worker reports that it is done before its last use of the lock.
#include "../threads.h"
#include <semaphore.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;
static int log_lines;

static void *work(void *unused) {
    sem_post(&done);
    pthread_mutex_lock(&mutex);
    log_lines++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    must(sem_init(&done, 0, 0));
    pthread_t a = start(work, NULL);
    sem_wait(&done);
    pthread_mutex_destroy(&mutex);
    join(a);
    return 0;
}
