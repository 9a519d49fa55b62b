#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static sem_t items;
static pthread_key_t key;
static int produced, consumed, begun, serial, dropped, sum;
static __thread int own;

static void begin(void) { begun++; }
static void drop(void *value) { pthread_mutex_lock(&normal); dropped += *(int *)value; pthread_mutex_unlock(&normal); free(value); }

static void *producer(void *arg) {
    pthread_once(&once, begin);
    int *value = malloc(sizeof *value);
    *value = 1;
    pthread_setspecific(key, value);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&normal);
        produced++;
        pthread_cond_signal(&ready);
        pthread_mutex_unlock(&normal);
        sem_post(&items);
        own++;
    }
    pthread_rwlock_wrlock(&table);
    sum += own;
    pthread_rwlock_unlock(&table);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
    assert(own == 2);
    pthread_exit(arg);
}

static void *consumer(void *arg) {
    pthread_once(&once, begin);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&normal);
        while (consumed == produced) pthread_cond_wait(&ready, &normal);
        consumed++;
        pthread_mutex_unlock(&normal);
        sem_wait(&items);
    }
    pthread_spin_lock(&spin);
    sched_yield();
    pthread_spin_unlock(&spin);
    pthread_rwlock_rdlock(&table);
    int seen = sum;
    pthread_rwlock_unlock(&table);
    assert(seen >= 0 && seen <= 2);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
    return arg;
}

static void *detached(void *arg) { sem_post(arg); return NULL; }

static void late(struct timespec *t) { clock_gettime(CLOCK_REALTIME, t); t->tv_sec += 1; }

int main(void) {
    pthread_t p, c, d;
    void *result;
    struct timespec t, before, after;
    sem_t done;
    pthread_key_create(&key, drop);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_spin_init(&spin, 0);
    sem_init(&items, 0, 0);
    sem_init(&done, 0, 0);
    pthread_create(&p, NULL, producer, (void *)7);
    pthread_create(&c, NULL, consumer, (void *)8);
    assert(pthread_join(p, &result) == 0 && result == (void *)7);
    assert(pthread_join(c, &result) == 0 && result == (void *)8);
    assert(begun == 1 && serial == 1 && dropped == 1 && produced == 2 && consumed == 2);
    assert(pthread_join(p, NULL) == ESRCH);

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_create(&d, &attributes, detached, &done);
    pthread_attr_destroy(&attributes);
    sem_wait(&done);
    int left;
    sem_getvalue(&items, &left);
    assert(left == 0 && sem_trywait(&items) == -1 && errno == EAGAIN);

    pthread_mutex_lock(&recursive);
    assert(pthread_mutex_trylock(&recursive) == 0);
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);
    assert(pthread_mutex_unlock(&recursive) == EPERM);
    pthread_mutex_lock(&checking);
    assert(pthread_mutex_lock(&checking) == EDEADLK);
    pthread_mutex_unlock(&checking);

    pthread_mutex_lock(&normal);
    assert(pthread_mutex_trylock(&normal) == EBUSY);
    late(&t);
    assert(pthread_mutex_timedlock(&normal, &t) == ETIMEDOUT);
    late(&t);
    assert(pthread_cond_timedwait(&ready, &normal, &t) == ETIMEDOUT);
    pthread_mutex_unlock(&normal);
    late(&t);
    assert(sem_timedwait(&items, &t) == -1 && errno == ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &before);
    usleep(1500000);
    sleep(2);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert(after.tv_sec - before.tv_sec >= 3 && after.tv_sec - before.tv_sec <= 4);
    pthread_mutex_destroy(&normal);
    pthread_cond_destroy(&ready);
    pthread_barrier_destroy(&barrier);
    puts("all is well");
    return 0;
}
