// Leaves a process behind that has left its group and its parents, and holds a lock. Fails if there is one already.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

static void *run(void *unused) {
    sched_yield();
    return unused;
}

int main(void) {
    int file = open("lock", O_CREAT | O_RDWR, 0600);
    if (flock(file, LOCK_EX | LOCK_NB) != 0) return 1;
    // A program with one thread is run once.
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    sched_yield();
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            // It does not stay for ever if nothing ends it.
            alarm(60);
            for (;;) pause();
        }
        _exit(0);
    }
    pthread_join(thread, NULL);
    return 0;
}
