/* Waits for duplicated files: `counter` is never written, `set` contains a socket that was added through its duplicate. */
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
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
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int socket_file = socket(AF_INET, SOCK_DGRAM, 0), set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    if (bind(socket_file, (struct sockaddr *)&address, size) || getsockname(socket_file, (struct sockaddr *)&address, &size)) return 2;
    epoll_ctl(fcntl(set, F_DUPFD, 0), EPOLL_CTL_ADD, socket_file, &event);
    if (sendto(socket_file, "", 1, 0, (struct sockaddr *)&address, size) != 1) return 3;
    return epoll_wait(set, &event, 1, -1) != 1;
}
