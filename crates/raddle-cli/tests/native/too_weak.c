// Two patterns with memory orders that are too weak; the argument chooses one.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int x, y;
static int seen[2];

static void *write_both(void *unused) {
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    return unused;
}

static void *first(void *unused) {
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    seen[0] = atomic_load_explicit(&y, memory_order_relaxed);
    return unused;
}

static void *second(void *unused) {
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    seen[1] = atomic_load_explicit(&x, memory_order_relaxed);
    return unused;
}

int main(int count, char **arguments) {
    pthread_t one, other;
    if (count > 1 && strcmp(arguments[1], "message") == 0) {
        pthread_create(&one, NULL, write_both, NULL);
        if (atomic_load_explicit(&y, memory_order_acquire) == 1)
            assert(atomic_load_explicit(&x, memory_order_relaxed) == 1);
        pthread_join(one, NULL);
        return 0;
    }
    pthread_create(&one, NULL, first, NULL);
    pthread_create(&other, NULL, second, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    assert(seen[0] == 1 || seen[1] == 1);
    return 0;
}
