// expect: deadlock
// points: sync
// build: c
// Two semaphores used as locks, taken in opposite orders.
#include "../threads.h"
#include <semaphore.h>

static sem_t s1, s2;

static void *forth(void *unused) {
    sem_wait(&s1);
    sem_wait(&s2);
    sem_post(&s2);
    sem_post(&s1);
    return unused;
}

static void *back(void *unused) {
    sem_wait(&s2);
    sem_wait(&s1);
    sem_post(&s1);
    sem_post(&s2);
    return unused;
}

int main(void) {
    must(sem_init(&s1, 0, 1));
    must(sem_init(&s2, 0, 1));
    pthread_t a = start(forth, NULL), b = start(back, NULL);
    join(a);
    join(b);
    return 0;
}
