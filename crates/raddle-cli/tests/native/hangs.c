// Keeps a run from ending.
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile int flag;
static int ends[2];

static void *work(void *way) {
    char byte;
    if (!strcmp(way, "spin")) while (!flag);
    if (!strcmp(way, "read") && read(ends[0], &byte, 1) < 0) return way;
    if (!strcmp(way, "unseen")) {
        // The kernel is called without a function.
        long result = 0;
        __asm__ volatile("syscall" : "+a"(result) : "D"(ends[0]), "S"(&byte), "d"(1) : "rcx", "r11", "memory");
    }
    if (!strcmp(way, "accept")) {
        int listener = socket(AF_INET, SOCK_STREAM, 0);
        listen(listener, 1);
        accept(listener, NULL, NULL);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc < 2 || pipe(ends)) return 1;
    pthread_create(&thread, NULL, work, argv[1]);
    pthread_join(thread, NULL);
    return 0;
}
