// expect: pass
// points: sync
// build: c
// Main returns while another thread waits forever: not a deadlock, since the program ends.
#include "../threads.h"
#include <semaphore.h>

static sem_t never, started;

static void *wait_for_ever(void *unused) {
    sem_post(&started);
    sem_wait(&never);
    return unused;
}

int main(void) {
    must(sem_init(&never, 0, 0));
    must(sem_init(&started, 0, 0));
    start(wait_for_ever, NULL);
    sem_wait(&started);
    return 0;
}
