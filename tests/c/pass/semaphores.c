// expect: pass
// points: shared
// build: c
// Two threads take turns with semaphores; attempts and time-outs on an empty one fail.
#include "../threads.h"
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <time.h>

static sem_t ping, pong;
static int ball;

static void *player(void *unused) {
    for (int i = 0; i < 3; i++) {
        sem_wait(&ping);
        assert(ball == 2 * i);
        ball++;
        sem_post(&pong);
    }
    return unused;
}

int main(void) {
    must(sem_init(&ping, 0, 1));
    must(sem_init(&pong, 0, 0));
    pthread_t other = start(player, NULL);
    for (int i = 0; i < 3; i++) {
        sem_wait(&pong);
        assert(ball == 2 * i + 1);
        ball++;
        sem_post(&ping);
    }
    join(other);
    int value;
    must(sem_getvalue(&ping, &value));
    assert(value == 1 && ball == 6);
    struct timespec past = {1, 0};
    assert(sem_trywait(&pong) == -1 && errno == EAGAIN);
    assert(sem_timedwait(&pong, &past) == -1 && errno == ETIMEDOUT);
    sem_destroy(&ping);
    sem_destroy(&pong);
    return 0;
}
