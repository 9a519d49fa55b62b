// expect: pass
// points: sync
// build: c
// One thread takes signals with sigwait while others work and send them; another waits for a handler to run.
#include "../threads.h"
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static sigset_t set;
static atomic_int handled;

static void handle(int signal) {
    handled = signal;
}

static void *take(void *unused) {
    int first, second;
    must(sigwait(&set, &first));
    must(sigwait(&set, &second));
    assert(first + second == SIGUSR1 + SIGUSR2);
    return unused;
}

static void *wait_for_handler(void *unused) {
    sigset_t none;
    sigemptyset(&none);
    while (!handled) {
        sigsuspend(&none);
    }
    return unused;
}

static void *nap(void *unused) {
    usleep(10);
    return unused;
}

int main(void) {
    signal(SIGHUP, handle);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    must(pthread_sigmask(SIG_BLOCK, &set, NULL));
    struct timespec moment = {.tv_nsec = 1000000};
    assert(sigtimedwait(&set, NULL, &moment) == -1 && errno == EAGAIN);
    pthread_t taking = start(take, NULL), napping = start(nap, NULL);
    must(kill(getpid(), SIGUSR1));
    join(napping);
    must(pthread_kill(taking, SIGUSR2));
    join(taking);
    /* It inherits the mask, so the signal does not come before it waits. */
    sigset_t hangup;
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    must(pthread_sigmask(SIG_BLOCK, &hangup, NULL));
    pthread_t waiting = start(wait_for_handler, NULL);
    must(pthread_kill(waiting, SIGHUP));
    join(waiting);
    assert(handled == SIGHUP);
    return 0;
}
