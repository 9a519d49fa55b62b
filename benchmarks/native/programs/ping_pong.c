// Two threads wake each other in turns; the first argument is the number of rounds. Under fixed priorities each round has four steps
// and two switches, whatever the priorities are. With a second argument the main thread takes the same steps alone.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static sem_t ping, pong;
static long rounds;

static void answer_once(void) {
    while (sem_wait(&ping) != 0) {}
    sem_post(&pong);
}

static void *answer(void *unused) {
    for (long round = 0; round < rounds; round++) answer_once();
    return unused;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atol(argv[1]) : 1000;
    sem_init(&ping, 0, 0);
    sem_init(&pong, 0, 0);
    int alone = argc > 2;
    pthread_t thread;
    if (!alone) pthread_create(&thread, NULL, answer, NULL);
    for (long round = 0; round < rounds; round++) {
        sem_post(&ping);
        if (alone) answer_once();
        while (sem_wait(&pong) != 0) {}
    }
    if (!alone) pthread_join(thread, NULL);
    return 0;
}
