/* The builtins of GCC: __sync_* are full barriers, except for the two of a lock; __atomic_* name their order. */
#include <assert.h>
#include <pthread.h>

static int x, y, lock, seen[2];

/* Store buffering: with a full barrier between, at least one of the two loads sees the other's store. */
static void *buffer(void *number) {
    int me = number != 0;
    __atomic_store_n(me ? &x : &y, 1, __ATOMIC_RELAXED);
#ifdef RIGHT
    __sync_synchronize();
#endif
    seen[me] = __atomic_load_n(me ? &y : &x, __ATOMIC_RELAXED);
    return 0;
}

/* The same with read-modify-writes, which are full barriers by themselves. */
static void *update(void *number) {
    int me = number != 0;
#ifdef RIGHT
    __sync_fetch_and_add(me ? &x : &y, 1);
    seen[me] = __sync_fetch_and_add(me ? &y : &x, 0);
#else
    __atomic_fetch_add(me ? &x : &y, 1, __ATOMIC_ACQ_REL);
    seen[me] = __atomic_load_n(me ? &y : &x, __ATOMIC_ACQUIRE);
#endif
    return 0;
}

/* A spin lock around two atomics. */
static void *count(void *number) {
    while (__sync_lock_test_and_set(&lock, 1))
        ;
    __atomic_store_n(&x, __atomic_load_n(&x, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
#ifdef RIGHT
    __sync_lock_release(&lock);
#else
    __atomic_store_n(&lock, 0, __ATOMIC_RELAXED);
#endif
    seen[number != 0] = 1;
    return 0;
}

/* A lock taken by an exchange of each kind; y is the lock. */
static void *claim(void *number) {
    int expected = 0;
    while (number ? !__sync_bool_compare_and_swap(&y, 0, 1)
                  : !__atomic_compare_exchange_n(&y, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        expected = 0;
    __atomic_store_n(&x, __atomic_load_n(&x, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
#ifdef RIGHT
    __atomic_store_n(&y, 0, __ATOMIC_RELEASE);
#else
    __atomic_store_n(&y, 0, __ATOMIC_RELAXED);
#endif
    return 0;
}

int main(int c, char **v) {
    void *(*bodies[])(void *) = {buffer, update, count, claim};
    int way = v[1][0] - '0';
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, bodies[way], (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    if (way < 2)
        assert(seen[0] || seen[1]);
    else
        assert(__atomic_load_n(&x, __ATOMIC_RELAXED) == 2);
}
