// expect: pass
// points: sync
// build: c
// Threads exclude each other with file locks, and communicate through kernel queues.
#include "../threads.h"
#include <assert.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

static int inside[2], queue, semaphores;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void alone(int way) {
    assert(inside[way]++ == 0);
    must(pthread_mutex_lock(&mutex));
    must(pthread_mutex_unlock(&mutex));
    usleep(1000);
    assert(--inside[way] == 0);
}

static void *by_file(void *path) {
    int file = open(path, O_RDWR);
    assert(file >= 0);
    must(flock(file, LOCK_EX));
    alone(0);
    must(flock(file, LOCK_UN));
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    must(fcntl(file, F_OFD_SETLKW, &lock));
    alone(1);
    must(close(file));
    return NULL;
}

struct message {
    long kind;
    char text[4];
};

static void *by_queue(void *unused) {
    struct message message = {1, "one"};
    usleep(1000);
    must(msgsnd(queue, &message, 4, 0));
    struct sembuf up = {0, 1, 0};
    must(semop(semaphores, &up, 1));
    return unused;
}

int main(void) {
    char path[] = "/tmp/raddle-locks-XXXXXX";
    int file = mkstemp(path);
    assert(file >= 0);
    pthread_t first = start(by_file, path), second = start(by_file, path);
    join(first), join(second);
    must(close(file));
    must(unlink(path));
    queue = msgget(IPC_PRIVATE, 0600), semaphores = semget(IPC_PRIVATE, 1, 0600);
    assert(queue >= 0 && semaphores >= 0);
    pthread_t third = start(by_queue, NULL);
    struct sembuf down = {0, -1, 0};
    must(semop(semaphores, &down, 1));
    struct message message;
    assert(msgrcv(queue, &message, 4, 0, 0) == 4 && message.text[0] == 'o');
    must(msgctl(queue, IPC_RMID, NULL));
    must(semctl(semaphores, 0, IPC_RMID));
    join(third);
    return 0;
}
