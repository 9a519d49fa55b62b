// expect: pass
// points: sync
// build: c
// Sockets inside the run: a server with `poll` and two clients, addresses, options, half-close, resets and refusals.
#include "../threads.h"
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address = {.sin_family = AF_INET};

static int number(int file, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    must(getsockopt(file, level, name, &value, &size));
    return value;
}

static int connected(void) {
    int file = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(file, (struct sockaddr *)&address, sizeof address));
    return file;
}

static void *client(void *count) {
    int file = connected();
    char text[8] = {0};
    for (long i = 0; i < (long)count; i++) {
        assert(send(file, "ping", 4, MSG_NOSIGNAL) == 4);
        assert(recv(file, text, 1, MSG_PEEK) == 1 && text[0] == 'p');
        assert(recv(file, text, 4, MSG_WAITALL) == 4);
        assert(memcmp(text, "pong", 4) == 0);
    }
    must(shutdown(file, SHUT_WR));
    assert(read(file, text, sizeof text) == 0); /* The server closes after us. */
    must(close(file));
    return NULL;
}

/* An echo server for `clients` connections. */
static void serve(int listener, int clients) {
    struct pollfd files[4] = {{.fd = listener, .events = POLLIN}};
    int open = 1, served = 0, have[4] = {0};
    while (served < clients) {
        assert(poll(files, open, -1) > 0);
        for (int i = 1; i < open; i++) {
            char text[8];
            if (!files[i].revents) continue;
            ssize_t got = read(files[i].fd, text, sizeof text);
            assert(got >= 0);
            if (got == 0) {
                must(close(files[i].fd));
                files[i].fd = -1;
                served++;
            }
            for (have[i] += got; have[i] >= 4; have[i] -= 4) assert(write(files[i].fd, "pong", 4) == 4);
        }
        if (files[0].revents) {
            struct sockaddr_in peer, own;
            socklen_t size = sizeof peer;
            int file = accept(listener, (struct sockaddr *)&peer, &size);
            assert(file >= 0 && size == sizeof peer && peer.sin_family == AF_INET && peer.sin_port);
            size = sizeof own;
            must(getsockname(file, (struct sockaddr *)&own, &size));
            assert(own.sin_port == address.sin_port);
            files[open++] = (struct pollfd){.fd = file, .events = POLLIN};
        }
    }
}

static void *reset(void *unused) {
    int file = connected();
    struct linger linger = {.l_onoff = 1};
    must(setsockopt(file, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
    must(close(file));
    return unused;
}

int main(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one));
    must(bind(listener, (struct sockaddr *)&address, sizeof address));
    must(getsockname(listener, (struct sockaddr *)&address, &size));
    assert(address.sin_port != 0);
    must(listen(listener, 4));
    assert(number(listener, SOL_SOCKET, SO_ACCEPTCONN) == 1 && number(listener, SOL_SOCKET, SO_DOMAIN) == AF_INET);
    pthread_t clients[2] = {start(client, (void *)2), start(client, (void *)1)};
    serve(listener, 2);
    join(clients[0]);
    join(clients[1]);

    int file = connected(), other = accept(listener, NULL, NULL), there = 0;
    must(setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
    assert(number(file, IPPROTO_TCP, TCP_NODELAY) == 1 && number(other, IPPROTO_TCP, TCP_NODELAY) == 0);
    assert(number(file, SOL_SOCKET, SO_TYPE) == SOCK_STREAM && number(file, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP);
    assert(connect(file, (struct sockaddr *)&address, size) == -1 && errno == EISCONN);
    assert(write(file, "abc", 3) == 3);
    struct pollfd ready = {.fd = other, .events = POLLIN};
    char text[4];
    for (int got = 0; got < 3; got += (int)read(other, text, 2)) assert(poll(&ready, 1, -1) == 1);
    must(ioctl(other, FIONREAD, &there));
    assert(there == 0);
    assert(recv(other, text, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    must(ioctl(other, FIONBIO, &one));
    assert(read(other, text, 1) == -1 && errno == EAGAIN);
    must(close(other));
    assert(read(file, text, 1) == 0);
    assert(send(file, "x", 1, MSG_NOSIGNAL) == 1); /* Its reply is a reset. */
    ready = (struct pollfd){.fd = file, .events = POLLPRI};
    assert(poll(&ready, 1, -1) == 1 && ready.revents & (POLLERR | POLLHUP));
    assert(send(file, "x", 1, MSG_NOSIGNAL) == -1 && (errno == EPIPE || errno == ECONNRESET));
    must(close(file));

    pthread_t resetting = start(reset, NULL);
    other = accept(listener, NULL, NULL);
    assert(read(other, text, 1) == -1 && errno == ECONNRESET);
    assert(read(other, text, 1) == 0);
    join(resetting);
    must(close(other));

    file = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert(recv(file, text, 1, 0) == -1 && errno == ENOTCONN);
    assert(connect(file, (struct sockaddr *)&address, size) == -1 && errno == EINPROGRESS);
    ready = (struct pollfd){.fd = file, .events = POLLOUT};
    assert(poll(&ready, 1, -1) == 1 && ready.revents == POLLOUT && number(file, SOL_SOCKET, SO_ERROR) == 0);
    must(getpeername(file, (struct sockaddr *)&address, &size));
    must(close(listener));
    assert(poll(&ready, 1, 0) == 1);
    must(close(file));

    file = socket(AF_INET, SOCK_STREAM, 0);
    assert(shutdown(file, SHUT_RDWR) == -1 && errno == ENOTCONN);
    must(close(file));
    file = socket(AF_INET, SOCK_STREAM, 0);
    assert(connect(file, (struct sockaddr *)&address, size) == -1 && errno == ECONNREFUSED);
    must(close(file));
    return 0;
}
