// Mutexes, condition variables, read-write locks and semaphores in memory that a child process shares.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_rwlock_t lock;
    sem_t semaphore, back;
    int ready, count;
};

static struct shared *shared;

static void add(void) {
    for (int time = 0; time < 300; time++) {
        pthread_mutex_lock(&shared->mutex);
        shared->count++;
        pthread_mutex_unlock(&shared->mutex);
        pthread_rwlock_wrlock(&shared->lock);
        shared->count++;
        pthread_rwlock_unlock(&shared->lock);
    }
}

static void *thread_adds(void *unused) {
    add();
    return unused;
}

int main(void) {
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutex, &mutex);
    pthread_condattr_t condition;
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared->condition, &condition);
    pthread_rwlockattr_t lock;
    pthread_rwlockattr_init(&lock);
    pthread_rwlockattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&shared->lock, &lock);
    sem_init(&shared->semaphore, 1, 0);
    sem_init(&shared->back, 1, 0);
    pid_t child = fork();
    if (child == 0) {
        sem_wait(&shared->back);
        add();
        pthread_mutex_lock(&shared->mutex);
        shared->ready = 1;
        pthread_cond_signal(&shared->condition);
        pthread_mutex_unlock(&shared->mutex);
        sem_post(&shared->semaphore);
        _exit(0);
    }
    sem_post(&shared->back);
    pthread_t thread;
    pthread_create(&thread, NULL, thread_adds, NULL);
    pthread_mutex_lock(&shared->mutex);
    while (!shared->ready) pthread_cond_wait(&shared->condition, &shared->mutex);
    pthread_mutex_unlock(&shared->mutex);
    printf("ready\n");
    sem_wait(&shared->semaphore);
    pthread_join(thread, NULL);
    int status;
    waitpid(child, &status, 0);
    // The mutex and the lock do not exclude each other.
    printf("%d\n", shared->count > 600);
    return 0;
}
