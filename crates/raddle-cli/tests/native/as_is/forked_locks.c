/* A new process has the locks as they are, and the handlers of `pthread_atfork` can release them. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, library = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t of_other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER, written = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t locked, done;

static void before(void) { pthread_mutex_lock(&library); }
static void after(void) { printf("atfork %d\n", pthread_mutex_unlock(&library)); }

static void *other(void *unused) {
    pthread_mutex_lock(&of_other);
    sem_post(&locked);
    sem_wait(&done);
    pthread_mutex_unlock(&of_other);
    return unused;
}

int main(void) {
    pthread_t thread;
    setvbuf(stdout, NULL, _IONBF, 0);
    sem_init(&locked, 0, 0);
    sem_init(&done, 0, 0);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_atfork(before, NULL, after);
    pthread_create(&thread, NULL, other, NULL);
    sem_wait(&locked);
    pthread_mutex_lock(&held);
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&checking);
    pthread_rwlock_rdlock(&shared);
    pthread_rwlock_wrlock(&written);
    pid_t process = fork();
    if (process == 0) {
        printf("library %d\n", pthread_mutex_trylock(&library));
        printf("held %d\n", pthread_mutex_trylock(&held) == EBUSY);
        printf("unlock %d", pthread_mutex_unlock(&held));
        printf(" lock %d\n", pthread_mutex_trylock(&held));
        printf("checking %d", pthread_mutex_trylock(&checking) == EBUSY);
        printf(" %d\n", pthread_mutex_unlock(&checking) == EPERM);
        printf("recursive %d\n", pthread_mutex_trylock(&recursive) == EBUSY);
        printf("of another %d\n", pthread_mutex_trylock(&of_other) == EBUSY);
        printf("readers %d", pthread_rwlock_tryrdlock(&shared));
        printf(" %d\n", pthread_rwlock_trywrlock(&shared) == EBUSY);
        printf("writer %d\n", pthread_rwlock_tryrdlock(&written) == EBUSY);
        _exit(3);
    }
    int status;
    waitpid(process, &status, 0);
    printf("status %d\n", WEXITSTATUS(status));
    printf("unlock %d\n", pthread_mutex_unlock(&held));
    sem_post(&done);
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&library);
    return 0;
}
