/* Include this first. Starts and joins threads without error handling, which these programs do not need. */
#ifndef THREADS_H
#define THREADS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Aborts if a call that must succeed has failed. */
static inline void must(int error) {
    if (error != 0) {
        fprintf(stderr, "a call failed with error %d\n", error);
        exit(3);
    }
}

static inline pthread_t start(void *(*function)(void *), void *argument) {
    pthread_t thread;
    must(pthread_create(&thread, NULL, function, argument));
    return thread;
}

static inline void *join(pthread_t thread) {
    void *result;
    must(pthread_join(thread, &result));
    return result;
}

#endif
