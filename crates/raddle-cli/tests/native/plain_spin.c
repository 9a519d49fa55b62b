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

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc < 2) return 1;
    pthread_create(&thread, NULL, work, argv[1]);
    ready = 1;
    plain = 1;
    while (!answer);
    pthread_join(thread, NULL);
    return 0;
}
