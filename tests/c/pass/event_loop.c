// expect: pass
// points: shared
// build: c
// An epoll loop that others wake with an event counter and a pipe; and poll and select, with time-outs.
#include "../threads.h"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static int counter, ends[2];

static void *post(void *unused) {
    must(eventfd_write(counter, 1));
    return unused;
}

static void *stop(void *unused) {
    usleep(1000);
    assert(write(ends[1], "!", 1) == 1);
    return unused;
}

static long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(void) {
    int idle[2];
    must(pipe(idle));
    struct pollfd quiet = {.fd = idle[0], .events = POLLIN};
    long before = milliseconds();
    assert(poll(&quiet, 1, 50) == 0); /* It takes no time under control. */
    assert(milliseconds() - before >= 50);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(idle[0], &set);
    struct timeval moment = {.tv_usec = 1000};
    assert(select(idle[0] + 1, &set, NULL, NULL, &moment) == 0 && !FD_ISSET(idle[0], &set));

    counter = eventfd(0, 0);
    must(pipe(ends));
    int loop = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = counter};
    must(epoll_ctl(loop, EPOLL_CTL_ADD, counter, &event));
    event.data.fd = ends[0];
    must(epoll_ctl(loop, EPOLL_CTL_ADD, ends[0], &event));
    pthread_t threads[3] = {start(post, NULL), start(post, NULL), start(stop, NULL)};
    unsigned long posted = 0;
    int stopped = 0;
    while (posted < 2 || !stopped) {
        struct epoll_event events[4];
        int count = epoll_wait(loop, events, 4, -1);
        assert(count > 0);
        for (int i = 0; i < count; i++) {
            unsigned long value;
            if (events[i].data.fd == counter) {
                must(eventfd_read(counter, &value));
                posted += value;
            } else {
                char byte;
                assert(read(ends[0], &byte, 1) == 1);
                stopped = 1;
            }
        }
    }
    for (int i = 0; i < 3; i++) {
        join(threads[i]);
    }
    return 0;
}
