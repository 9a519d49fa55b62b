// Two threads copy to ranges that overlap, which the schedule decides.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static char buffer[16];
static int length = 8;

static void *first(void *unused) {
    sched_yield();
    memcpy(buffer, "aaaaaaa", *(volatile int *)&length);
    return unused;
}

static void *second(void *unused) {
    sched_yield();
    memcpy(buffer + 4, "bbbbbbb", *(volatile int *)&length);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    if (buffer[4] != 'b')
        abort();
    return 0;
}
