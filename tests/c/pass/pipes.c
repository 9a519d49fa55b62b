// expect: pass
// points: shared
// build: c
// Two threads communicate through pipes, one of them fills its pipe, and both ends are closed explicitly.
#include "../threads.h"
#include <assert.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 3, MUCH = 100000 };

static int there[2], back[2], bulk[2];
static int shared; /* Passed with each message. */

static void *echo(void *unused) {
    char byte;
    while (read(there[0], &byte, 1) == 1) {
        shared++;
        byte++;
        assert(write(back[1], &byte, 1) == 1);
    }
    close(back[1]);
    return unused;
}

static void *fill(void *unused) {
    static char much[MUCH];
    memset(much, 'x', MUCH);
    assert(write(bulk[1], much, MUCH) == MUCH);
    close(bulk[1]);
    return unused;
}

int main(void) {
    must(pipe(there));
    must(pipe(back));
    must(pipe(bulk));
    pthread_t echoing = start(echo, NULL), filling = start(fill, NULL);
    for (char i = 0; i < ROUNDS; i++) {
        char answer;
        assert(write(there[1], &i, 1) == 1);
        assert(read(back[0], &answer, 1) == 1 && answer == i + 1);
        assert(shared == i + 1);
    }
    close(there[1]);
    char byte;
    assert(read(back[0], &byte, 1) == 0);
    static char room[4096];
    long total = 0, count;
    while ((count = read(bulk[0], room, sizeof room)) > 0) {
        total += count;
    }
    assert(total == MUCH);
    join(echoing);
    join(filling);
    return 0;
}
