// Forks, lets the child end and waits for it. The first argument is the number of times, the second the written memory in
// KiB. If there is a third, the child creates and joins a thread before it ends.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *nothing(void *unused) { return unused; }

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    long times = atol(argv[1]);
    size_t size = (size_t)atol(argv[2]) << 10;
    volatile char *memory = malloc(size + 1);
    for (size_t at = 0; at < size; at += 4096) memory[at] = 1;
    for (long i = 0; i < times; i++) {
        pid_t child = fork();
        if (child < 0) return 3;
        if (child == 0) {
            pthread_t thread;
            if (argc > 3 && pthread_create(&thread, NULL, nothing, NULL) == 0) pthread_join(thread, NULL);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}
