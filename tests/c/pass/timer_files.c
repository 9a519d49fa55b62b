// expect: pass
// points: sync
// build: c
// options: --timeouts idle
// Timer files follow the virtual clock: read, polled and in a set, once and again.
#include "../threads.h"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MILLISECOND = 1000000 };

static long now(void) {
    struct timespec time;
    must(clock_gettime(CLOCK_MONOTONIC, &time));
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static int timer(long first, long interval, int flags) {
    int file = timerfd_create(CLOCK_MONOTONIC, flags);
    struct itimerspec value = {{0, interval}, {first / 1000000000, first % 1000000000}}, old;
    assert(file >= 0);
    must(timerfd_settime(file, first > 1000000000 ? TFD_TIMER_ABSTIME : 0, &value, &old));
    assert(old.it_value.tv_sec == 0 && old.it_value.tv_nsec == 0);
    return file;
}

static unsigned long expirations(int file) {
    unsigned long count = 0;
    assert(read(file, &count, sizeof count) == sizeof count);
    return count;
}

static void *sleeping(void *unused) {
    for (int i = 0; i < 3; i++) must(usleep(2000));
    return unused;
}

int main(void) {
    pthread_t other = start(sleeping, NULL);
    long begun = now();
    int once = timer(5 * MILLISECOND, 0, 0);
    assert(expirations(once) == 1 && now() - begun >= 5 * MILLISECOND);
    // Like an event loop: it continues until the clock reaches the time.
    long end = now() + 10 * MILLISECOND;
    int until = timer(end, 0, TFD_NONBLOCK);
    int rounds = 0;
    while (now() < end) {
        struct pollfd files = {until, POLLIN, 0};
        assert(poll(&files, 1, -1) == 1 && rounds++ < 100);
        assert(expirations(until) == 1);
    }
    unsigned long count;
    assert(read(until, &count, sizeof count) == -1 && errno == EAGAIN);
    // Repeated, in a set, through a duplicate.
    int again = timer(3 * MILLISECOND, 3 * MILLISECOND, 0), copy = dup(again), set = epoll_create1(0);
    must(close(again));
    struct epoll_event event = {.events = EPOLLIN};
    must(epoll_ctl(set, EPOLL_CTL_ADD, copy, &event));
    assert(epoll_wait(set, &event, 1, 1) == 0);
    assert(epoll_wait(set, &event, 1, -1) == 1 && expirations(copy) >= 1);
    must(usleep(10000));
    assert(expirations(copy) >= 3);
    struct itimerspec left;
    must(timerfd_gettime(copy, &left));
    assert(left.it_interval.tv_nsec == 3 * MILLISECOND && left.it_value.tv_nsec <= 3 * MILLISECOND);
    must(close(copy));
    join(other);
    return 0;
}
