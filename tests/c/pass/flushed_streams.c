// expect: pass
// points: sync
// build: c
// Flushing all streams does not block others from opening files, and the end of the program waits for no lock on a stream, but for
// who is writing to it.
#include "../threads.h"
#include <assert.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 4096 };

static int ends[2];
static FILE *out;

static FILE *open_full(int *pair) {
    static const char fill[ROOM];
    must(pipe(pair));
    assert(fcntl(pair[1], F_SETPIPE_SZ, ROOM) == ROOM);
    assert(write(pair[1], fill, ROOM) == ROOM);
    FILE *file = fdopen(pair[1], "w");
    assert(file != NULL);
    return file;
}

static void *reading(void *pair) {
    char room[ROOM];
    while (read(*(int *)pair, room, sizeof room) > 0) {
    }
    return NULL;
}

static void *opening(void *unused) {
    sched_yield();
    FILE *file = fopen("/dev/null", "r");
    assert(file != NULL);
    must(fclose(file));
    return unused;
}

// The second call behaves like the first one.
static void flush_twice(void) {
    must(fflush(NULL));
    out = open_full(ends);
    assert(fputs("more", out) >= 0);
    pthread_t threads[] = {start(opening, NULL), start(reading, ends)};
    must(fflush(NULL));
    must(fclose(out));
    for (int i = 0; i < 2; i++) join(threads[i]);
    must(close(ends[0]));
}

static FILE *locked;

// It never returns.
static void *holding(void *ready) {
    flockfile(locked);
    assert(putc('x', locked) == 'x');
    must(sem_post(ready));
    pause();
    return NULL;
}

static int last[2];
static FILE *busy;

static void *writing(void *unused) {
    static char much[2 * ROOM];
    memset(much, 'x', sizeof much - 1);
    fputs(much, busy);
    return unused;
}

int main(void) {
    static int pair[2];
    static sem_t ready;
    flush_twice();
    must(pipe(pair));
    locked = fdopen(pair[1], "w");
    must(sem_init(&ready, 0, 0));
    start(holding, &ready);
    must(sem_wait(&ready));
    busy = open_full(last);
    start(writing, NULL);
    start(reading, last);
    sched_yield();
    return 0;
}
