// Passes a pointer to no object to a function of the C library, in a separate thread.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void *volatile object;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static sem_t semaphore;

static void *nothing(void *argument) { return argument; }

// The kernel refuses these, and the program goes on.
static void ask_kernel(void) {
    struct timespec second = {1, 0};
    assert(nanosleep(object, NULL) == -1 && errno == EFAULT);
    assert(clock_nanosleep(CLOCK_MONOTONIC, 0, object, NULL) == EFAULT);
    assert(poll(object, 1, 10) == -1 && errno == EFAULT);
    assert(syscall(SYS_futex, (char *)object + 16, FUTEX_WAIT_PRIVATE, 0, NULL) == -1 && errno == EFAULT);
    assert(sendmsg(1, object, 0) == -1);
    assert(getrandom(object, 8, 0) == -1 && errno == EFAULT);
    assert(fopen(object, "r") == NULL && errno == EFAULT);
    assert(ppoll(object, 1, &second, NULL) == -1 && errno == EFAULT);
    if (object != NULL) assert(select(4, object, NULL, NULL, NULL) == -1 && errno == EFAULT);
}

// glibc does not look at these.
static void ask_nobody(void) {
    assert(pthread_mutex_timedlock(&mutex, object) == 0);
    assert(sem_destroy(object) == 0);
    assert(pthread_rwlock_destroy(object) == 0);
    assert(pthread_spin_destroy(object) == 0);
    if (object == NULL) assert(gettimeofday(object, NULL) == 0 && pthread_join((pthread_t)object, NULL) == ESRCH);
}

static void *use(void *way) {
    pthread_t thread = pthread_self();
    if (!strcmp(way, "kernel")) ask_kernel();
    if (!strcmp(way, "nobody")) ask_nobody();
    if (!strcmp(way, "consistent")) pthread_mutex_consistent(object);
    if (!strcmp(way, "sem_time")) sem_timedwait(&semaphore, object);
    if (!strcmp(way, "cond_time")) pthread_cond_timedwait(&condition, &mutex, object);
    if (!strcmp(way, "lock_time")) pthread_mutex_timedlock((pthread_mutex_lock(&mutex), &mutex), object);
    if (!strcmp(way, "create")) pthread_create(object, NULL, nothing, NULL);
    if (!strcmp(way, "name")) pthread_setname_np(thread, object);
    if (!strcmp(way, "cancel")) pthread_cancel((pthread_t)object);
    if (!strcmp(way, "tryjoin")) pthread_tryjoin_np((pthread_t)object, NULL);
    if (!strcmp(way, "clock")) clock_gettime(CLOCK_MONOTONIC, object);
    if (!strcmp(way, "attributes")) pthread_attr_init(object);
    if (!strcmp(way, "key")) pthread_key_create(object, NULL);
    if (!strcmp(way, "value")) sem_getvalue(object, NULL);
    if (!strcmp(way, "length")) thread += strlen(object);
    if (!strcmp(way, "call")) ((void (*)(void))object)();
    if (!strcmp(way, "routine")) pthread_once(&(pthread_once_t){0}, (void (*)(void))object);
    if (!strcmp(way, "constant")) sem_post((sem_t *)"a constant");
    if (!strcmp(way, "mutex")) pthread_mutex_lock(object);
    if (!strcmp(way, "unlock")) pthread_mutex_unlock(object);
    if (!strcmp(way, "rwlock")) pthread_rwlock_rdlock(object);
    if (!strcmp(way, "cond")) pthread_cond_signal(object);
    if (!strcmp(way, "cond_wait")) {
        pthread_mutex_lock(&mutex);
        pthread_cond_wait(object, &mutex);
    }
    if (!strcmp(way, "cond_mutex")) pthread_cond_wait(&condition, object);
    if (!strcmp(way, "sem")) sem_wait(object);
    if (!strcmp(way, "post")) sem_post(object);
    if (!strcmp(way, "barrier")) pthread_barrier_wait(object);
    if (!strcmp(way, "spin")) pthread_spin_lock(object);
    if (!strcmp(way, "once")) pthread_once(object, abort);
    return (void *)thread;
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc < 3) return 1;
    object = (void *)(uintptr_t)strtoull(argv[2], NULL, 0);
    pthread_create(&thread, NULL, use, argv[1]);
    pthread_join(thread, NULL);
    return 0;
}
