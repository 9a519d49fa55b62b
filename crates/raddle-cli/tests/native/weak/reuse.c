/* Memory that is given back, and what is there later. No run may fail, and the runtime may not read unmapped memory. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, LARGE = 64 << 20 };

static atomic_int ended;
static _Thread_local int count;
static _Thread_local atomic_int own;

/* The last access before the end of the thread is to memory that is unmapped then. */
static void *map(void *unused) {
    atomic_int *number = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(atomic_load_explicit(number, memory_order_relaxed) == 0);
    atomic_store_explicit(number, 1, memory_order_relaxed);
    atomic_store_explicit(number, 0, memory_order_relaxed);
    munmap(number, PAGE);
    return 0;
}

static void *allocate(void *unused) {
    atomic_int *number = calloc(1, LARGE);
    assert(atomic_load_explicit(number, memory_order_relaxed) == 0);
    atomic_store_explicit(number, 1, memory_order_relaxed);
    free(number);
    return 0;
}

/* A thread may get the stack and the thread-local memory of one before, although nothing orders the two. */
static void *use(void *unused) {
    assert(count++ == 0 && atomic_fetch_add_explicit(&own, 1, memory_order_relaxed) == 0);
    atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed);
    return 0;
}

int main(int words, char **argument) {
    pthread_t threads[3];
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (*argument[1] == '2') {
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[0], &detached, use, 0);
        while (atomic_load_explicit(&ended, memory_order_relaxed) < 4)
            ;
        return 0;
    }
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, *argument[1] == '0' ? map : allocate, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
}
