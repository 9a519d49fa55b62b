// Ends unexpectedly, from a thread and between two steps.
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *way) {
    int ends[2];
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    if (!strcmp(way, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(way, "raise")) raise(SIGTERM);
    if (!strcmp(way, "pipe") && !pipe(ends) && !close(ends[0])) return (void *)write(ends[1], "x", 1);
    if (!strcmp(way, "exit_group")) syscall(SYS_exit_group, 3);
    // Bypasses every function that could be replaced.
    if (!strcmp(way, "instruction")) __asm__ volatile("syscall" ::"a"(SYS_exit_group), "D"(3));
    if (!strcmp(way, "trap")) __asm__ volatile("int3");
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc < 2) return 1;
    if (!strcmp(argv[1], "first")) __asm__ volatile("int3");
    pthread_create(&thread, NULL, work, argv[1]);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    return 0;
}
