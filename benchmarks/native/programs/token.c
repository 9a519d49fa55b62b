// Two OS threads pass a token to each other with a futex and do nothing else; the first argument is the number of rounds.
// Prints the nanoseconds per hand-over.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int owner;
static long rounds;

static void pass(int me) {
    for (long round = 0; round < rounds; round++) {
        int now;
        while ((now = __atomic_load_n(&owner, __ATOMIC_ACQUIRE)) != me) {
            syscall(SYS_futex, &owner, FUTEX_WAIT_PRIVATE, now, NULL);
        }
        __atomic_store_n(&owner, !me, __ATOMIC_RELEASE);
        syscall(SYS_futex, &owner, FUTEX_WAKE_PRIVATE, 1);
    }
}

static void *other(void *unused) {
    pass(1);
    return unused;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atol(argv[1]) : 100000;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    pass(0);
    pthread_join(thread, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double time = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
    printf("%f\n", time / (2.0 * rounds));
    return 0;
}
