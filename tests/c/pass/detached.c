// expect: pass
// points: shared
// build: c
// Detached threads, by attribute and later; main waits for their work with a semaphore, and their data outlives them.
#include "../threads.h"
#include <assert.h>
#include <semaphore.h>
#include <stdatomic.h>

static sem_t done;
static atomic_int work_done;

static void *work(void *by_itself) {
    if (by_itself != NULL) must(pthread_detach(pthread_self()));
    atomic_fetch_add(&work_done, 1);
    sem_post(&done);
    return NULL;
}

int main(void) {
    must(sem_init(&done, 0, 0));
    pthread_attr_t attributes;
    must(pthread_attr_init(&attributes));
    must(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED));
    pthread_t ignored;
    must(pthread_create(&ignored, &attributes, work, NULL));
    must(pthread_attr_destroy(&attributes));
    must(pthread_detach(start(work, NULL)));
    start(work, &done);
    for (int i = 0; i < 3; i++) sem_wait(&done);
    assert(atomic_load(&work_done) == 3);
    return 0;
}
