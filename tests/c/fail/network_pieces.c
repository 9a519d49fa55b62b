// expect: assertion
// points: sync
// build: c
// An epoll loop on one thread, whose line protocol takes what one read returns for one line.
#include "../threads.h"
#include <arpa/inet.h>
#include <assert.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    must(bind(listener, (struct sockaddr *)&address, size));
    must(getsockname(listener, (struct sockaddr *)&address, &size));
    must(listen(listener, 1));
    must(connect(client, (struct sockaddr *)&address, size));
    assert(write(client, "hello\n", 6) == 6);

    int loop = epoll_create1(0), file = accept(listener, NULL, NULL);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = file};
    must(epoll_ctl(loop, EPOLL_CTL_ADD, file, &event));
    char line[16] = "";
    assert(epoll_wait(loop, &event, 1, -1) == 1);
    ssize_t length = read(event.data.fd, line, sizeof line);
    assert(length > 0 && line[length - 1] == '\n');
    return 0;
}
