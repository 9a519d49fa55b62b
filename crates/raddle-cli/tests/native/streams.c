/* Stdio streams: locked by a waiting thread, with processes or a terminal at the other end, or not empty at the end. */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *in;
static int ends[2];
static char line[100];

static void *reading(void *unused) {
    char mine[100];
    if (fgets(mine, sizeof mine, in) != NULL) strcpy(line, mine);
    return unused;
}

static void *emptying(void *unused) {
    static char room[5000];
    while (read(ends[0], room, sizeof room) > 0) {}
    return unused;
}

static pthread_t start(void *(*function)(void *)) {
    pthread_t thread;
    assert(pthread_create(&thread, NULL, function, NULL) == 0);
    return thread;
}

/* Two threads read from one stream, and none writes. */
static void lock(void) {
    in = fdopen(ends[0], "r");
    pthread_t first = start(reading), second = start(reading);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}

static void *writing(void *unused) {
    assert(write(ends[1], "word\n", 5) == 5);
    return unused;
}

static void processes(void) {
    /* The command waits for the other thread. */
    char command[100];
    sprintf(command, "read word <&%d && test $word = word", ends[0]);
    pthread_t writer = start(writing);
    assert(system(command) == 0);
    pthread_join(writer, NULL);
    assert(system("exit 4") == 4 << 8 && system(NULL) != 0);
    in = popen("echo a line; echo another", "r");
    pthread_t reader = start(reading);
    pthread_join(reader, NULL);
    assert(strcmp(line, "a line\n") == 0);
    assert(fscanf(in, "%99s", line) == 1 && strcmp(line, "another") == 0);
    assert(pclose(in) == 0);
    FILE *out = popen("cat >/dev/null; exit 3", "w");
    for (int i = 0; i < 30000; i++) fprintf(out, "%d\n", i);
    assert(pclose(out) == 3 << 8);
}

static void terminal(void) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    in = fopen(ptsname(master), "r");
    pthread_t reader = start(reading);
    assert(write(master, "typed\n", 6) == 6);
    pthread_join(reader, NULL);
    assert(strcmp(line, "typed\n") == 0);
}

/* The rest of the stream does not fit into the pipe until the other thread reads. */
static void at_the_end(void) {
    static char much[1 << 16];
    FILE *out = fdopen(ends[1], "w");
    start(emptying);
    assert(write(ends[1], much, sizeof much) == sizeof much);
    fputs("the rest", out);
}

int main(int count, char **arguments) {
    assert(count == 2 && pipe(ends) == 0);
    if (strcmp(arguments[1], "lock") == 0) lock();
    if (strcmp(arguments[1], "processes") == 0) processes();
    if (strcmp(arguments[1], "terminal") == 0) terminal();
    if (strcmp(arguments[1], "exit") == 0) at_the_end();
    return 0;
}
