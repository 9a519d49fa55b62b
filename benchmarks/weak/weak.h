/* What the programs of this folder share. Each is wrong under weak memory only, unless compiled with -DRIGHT. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define relaxed memory_order_relaxed
#define acquire memory_order_acquire
#define release memory_order_release
#define acq_rel memory_order_acq_rel
#define seq_cst memory_order_seq_cst

#define load(p, order) atomic_load_explicit(p, order)
#define store(p, value, order) atomic_store_explicit(p, value, order)
#define swap(p, value, order) atomic_exchange_explicit(p, value, order)
#define add(p, value, order) atomic_fetch_add_explicit(p, value, order)
#define sub(p, value, order) atomic_fetch_sub_explicit(p, value, order)
#define exchange_if(p, expected, value, success, failure)                                                              \
    atomic_compare_exchange_strong_explicit(p, expected, value, success, failure)
#define fence(order) atomic_thread_fence(order)

/* RIGHTLY(a, b) is a in the right version and b in the wrong one. */
#ifdef RIGHT
#define RIGHTLY(right, wrong) right
#else
#define RIGHTLY(right, wrong) wrong
#endif

/* Runs two threads to their ends. */
static void both(void *(*one)(void *), void *(*two)(void *)) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, one, (void *)0);
    pthread_create(&threads[1], 0, two, (void *)1);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
}
