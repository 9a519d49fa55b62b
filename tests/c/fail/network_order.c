// expect: assertion
// points: sync
// build: c
// One thread asks two servers and expects the replies in the order of its requests.
#include "../threads.h"
#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address = {.sin_family = AF_INET};

int main(void) {
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0), served[2];
    must(bind(listener, (struct sockaddr *)&address, size));
    must(getsockname(listener, (struct sockaddr *)&address, &size));
    must(listen(listener, 2));
    struct pollfd asked[2];
    for (int i = 0; i < 2; i++) {
        asked[i] = (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN};
        must(connect(asked[i].fd, (struct sockaddr *)&address, size));
        served[i] = accept(listener, NULL, NULL);
        assert(write(served[i], "!", 1) == 1);
    }
    assert(poll(asked, 2, -1) > 0);
    assert(asked[0].revents); /* The second reply may be delivered first. */
    return 0;
}
