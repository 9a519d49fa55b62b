// expect: pass
// points: sync
// build: c
// Threads are cancelled in, or just before, all kinds of waits.
#include "../threads.h"
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

static int ends[2];
static sigset_t none_pending;
static int cleaned;

static void clean(void *unused) {
    (void)unused;
    cleaned++;
}

static void *in_read(void *unused) {
    char byte;
    pthread_cleanup_push(clean, NULL);
    if (read(ends[0], &byte, 1) >= 0) abort();
    pthread_cleanup_pop(0);
    return unused;
}

static void *in_poll(void *unused) {
    struct pollfd files = {ends[0], POLLIN, 0};
    pthread_cleanup_push(clean, NULL);
    poll(&files, 1, -1);
    pthread_cleanup_pop(0);
    return unused;
}

static void *in_sigwait(void *unused) {
    int signal;
    pthread_cleanup_push(clean, NULL);
    sigwait(&none_pending, &signal);
    pthread_cleanup_pop(0);
    return unused;
}

static void *everywhere(void *unused) {
    pthread_cleanup_push(clean, NULL);
    must(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    for (;;) sched_yield();
    pthread_cleanup_pop(0);
    return unused;
}

int main(void) {
    void *(*functions[])(void *) = {in_read, in_poll, in_sigwait, everywhere};
    must(pipe(ends));
    sigemptyset(&none_pending);
    sigaddset(&none_pending, SIGUSR1);
    must(pthread_sigmask(SIG_BLOCK, &none_pending, NULL));
    for (int i = 0; i < 4; i++) {
        pthread_t thread = start(functions[i], NULL);
        must(pthread_cancel(thread));
        assert(join(thread) == PTHREAD_CANCELED);
    }
    assert(cleaned <= 4);
    return 0;
}
