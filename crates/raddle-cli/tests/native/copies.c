/* Waits in files that are known by a copy: `counter` is written by nobody, `set` has a timer that was put in by its copy. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void *nothing(void *argument) { return argument; }

int main(int count, char **words) {
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    if (count > 1 && strcmp(words[1], "counter") == 0) {
        uint64_t value;
        int copy = fcntl(eventfd(0, 0), F_DUPFD_CLOEXEC, 0);
        return read(copy, &value, sizeof value) != sizeof value;
    }
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(timer, 0, &soon, NULL);
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(fcntl(set, F_DUPFD, 0), EPOLL_CTL_ADD, timer, &event);
    return epoll_wait(set, &event, 1, -1) != 1;
}
