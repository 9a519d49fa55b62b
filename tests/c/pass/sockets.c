// expect: pass
// points: sync
// build: c
// A pair of sockets, and a server and two clients on one machine.
#include "../threads.h"
#include <arpa/inet.h>
#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int pair[2];
static struct sockaddr_in address;

static void *answer(void *unused) {
    char text[8];
    assert(recv(pair[1], text, sizeof text, MSG_WAITALL) == sizeof text);
    assert(memcmp(text, "question", sizeof text) == 0);
    assert(send(pair[1], "reply", 5, 0) == 5);
    return unused;
}

static void *client(void *number) {
    int file = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(file, (struct sockaddr *)&address, sizeof address));
    char mine = (char)(long)number, theirs = 0;
    assert(send(file, &mine, 1, 0) == 1);
    assert(recv(file, &theirs, 1, 0) == 1 && theirs == mine * 2);
    close(file);
    return NULL;
}

int main(void) {
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    pthread_t answering = start(answer, NULL);
    char text[8];
    assert(send(pair[0], "ques", 4, 0) == 4);
    assert(send(pair[0], "tion", 4, 0) == 4);
    assert(recv(pair[0], text, sizeof text, 0) == 5);
    join(answering);

    int listener = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(bind(listener, (struct sockaddr *)&address, sizeof address));
    must(getsockname(listener, (struct sockaddr *)&address, &size));
    must(listen(listener, 4));
    pthread_t clients[2] = {start(client, (void *)3), start(client, (void *)4)};
    for (int i = 0; i < 2; i++) {
        int file = accept(listener, NULL, NULL);
        char byte;
        assert(file >= 0);
        assert(recv(file, &byte, 1, 0) == 1);
        byte *= 2;
        assert(send(file, &byte, 1, 0) == 1);
        close(file);
    }
    join(clients[0]);
    join(clients[1]);
    return 0;
}
