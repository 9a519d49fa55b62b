// Two threads share words but no bytes, and pass a value in an order that C guarantees; with an argument, in none.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static struct {
    char a, b;
    short c, d;
    int e, f;
} beside __attribute__((aligned(8)));
static int by_store, by_fence;
static atomic_int stored, fenced, turn;
static memory_order order = memory_order_release;

static void *give(void *unused) {
    beside.a++, beside.c++, beside.e++;
    by_store = 1;
    if (order == memory_order_relaxed)
        atomic_store_explicit(&stored, 1, memory_order_relaxed);
    else
        atomic_store_explicit(&stored, 1, memory_order_release);
    by_fence = 1;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&fenced, 1, memory_order_relaxed);
    int expected = 0;
    atomic_compare_exchange_strong(&turn, &expected, 1);
    return unused;
}

int main(int count, char **words) {
    if (count > 1 && words[1]) order = memory_order_relaxed;
    pthread_t giver;
    assert(pthread_create(&giver, NULL, give, NULL) == 0);
    beside.b++, beside.d++, beside.f++;
    if (atomic_load_explicit(&stored, memory_order_acquire)) assert(by_store == 1);
    if (atomic_load_explicit(&fenced, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_acquire);
        assert(by_fence == 1);
    }
    int expected = 0;
    atomic_compare_exchange_strong(&turn, &expected, 2);
    pthread_join(giver, NULL);
    assert(beside.a == 1 && beside.b == 1 && beside.c == 1 && beside.d == 1 && beside.e == 1 && beside.f == 1);
    return 0;
}
