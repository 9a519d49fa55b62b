// Threads wait for each other in loops on plain and volatile memory, in any order.
#include <pthread.h>
#include <string.h>

static volatile int ready;
static int plain, rounds;
static volatile int answer;

static void *work(void *way) {
    if (!strcmp(way, "volatile")) {
        while (!ready);
        answer = 1;
    } else {
        // The barrier keeps the compiler from reading once.
        while (!plain) {
            if (!strcmp(way, "writes")) rounds++;
            __asm__ volatile("" ::: "memory");
        }
        answer = 1;
    }
    return NULL;
}

// Waits for a value that no thread writes, for a limited time.
static void *wait(void *argument) {
    for (long reads = 0; !plain && reads < 10000000; reads++) __asm__ volatile("" ::: "memory");
    return argument;
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc < 2) return 1;
    if (!strcmp(argv[1], "endless")) {
        pthread_create(&thread, NULL, wait, NULL);
        pthread_join(thread, NULL);
        return 0;
    }
    pthread_create(&thread, NULL, work, argv[1]);
    ready = 1;
    plain = 1;
    while (!answer);
    pthread_join(thread, NULL);
    return 0;
}
