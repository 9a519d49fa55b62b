/* To be included first by the programs of the corpus. -DFIXED builds the version without the bug. */
#ifndef CORPUS_H
#define CORPUS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

typedef pthread_mutex_t lock_t;
#define LOCK_INIT PTHREAD_MUTEX_INITIALIZER

/* Stops the program if a call that has to succeed has failed. */
static inline void must(int error) {
    if (error != 0) {
        fprintf(stderr, "a call failed with error %d\n", error);
        exit(3);
    }
}

static inline void lock(lock_t *mutex) { must(pthread_mutex_lock(mutex)); }
static inline void unlock(lock_t *mutex) { must(pthread_mutex_unlock(mutex)); }

static inline pthread_t start(void *(*function)(void *), void *argument) {
    pthread_t thread;
    must(pthread_create(&thread, NULL, function, argument));
    return thread;
}

static inline void join(pthread_t thread) { must(pthread_join(thread, NULL)); }

#endif
