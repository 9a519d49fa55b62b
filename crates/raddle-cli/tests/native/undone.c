// Changes everything that can be undone after a run, and exits with 1 if it finds such a change already.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int zeroed[100000];
static int set = 1;
static __thread int own = 1;
static char *early;

__attribute__((constructor)) static void begin(void) {
    early = malloc(3 << 20);
    memset(early, 1, 3 << 20);
}

static void is_fresh(int fresh) {
    if (!fresh) _exit(1);
}

static void *thread(void *large) {
    is_fresh(own == 1 && errno == 0);
    own = errno = 5;
    char *block = malloc(large ? 1 << 20 : 100);
    block[0] = 1;
    if (!large) free(block);
    return block;
}

static int deep(int depth) {
    volatile char frame[4096];
    frame[0] = (char)depth;
    return depth == 0 ? frame[0] : deep(depth - 1) + frame[0];
}

int main(void) {
    is_fresh(zeroed[0] == 0 && zeroed[99999] == 0 && set == 1 && own == 1);
    zeroed[0] = zeroed[99999] = set = own = 2;
    for (int at = 0; at < 3 << 20; at += 100000) {
        is_fresh(early[at] == 1);
        early[at] = 2;
    }
    // Memory that the kernel writes.
    int zero = open("/dev/zero", O_RDONLY);
    if (zero >= 0) close(zero);
    int file = open("/proc/self/status", O_RDONLY);
    is_fresh(file == 3 || zero != 3);
    is_fresh(read(file, early + 1000000, 10) == 10);
    // The file stays open.
    void *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    is_fresh(page != MAP_FAILED && *(char *)page == 0);
    *(char *)page = 1;
    static void *expected;
    is_fresh(expected == NULL);
    expected = page;
    void *top = sbrk(0);
    is_fresh(sbrk(1 << 20) == top && *(char *)top == 0);
    *(char *)top = 1;
    struct sigaction action;
    sigaction(SIGUSR1, NULL, &action);
    is_fresh(action.sa_handler == SIG_DFL);
    signal(SIGUSR1, SIG_IGN);
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    is_fresh(!sigismember(&mask, SIGUSR2));
    sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    is_fresh(deep(200) != 1);
    int pair[2];
    is_fresh(pipe(pair) == 0 && write(pair[1], "x", 1) == 1);
    setenv("RADDLE_TEST_RUN", "1", 0);
    is_fresh(lseek(1, 0, SEEK_CUR) == 0);
    printf("hello\n");
    pthread_t threads[4];
    for (long index = 0; index < 4; index++) pthread_create(&threads[index], NULL, thread, (void *)(index & 1));
    for (int index = 0; index < 4; index++) pthread_join(threads[index], NULL);
    fflush(stdout);
    return 0;
}
