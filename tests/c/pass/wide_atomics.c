// expect: pass
// points: shared
// build: c
// options: --races fail
// Atomics of sixteen bytes: no thread sees half of one, and each operation has its effect.
#include "../threads.h"

#include <assert.h>

typedef unsigned __int128 wide;

// Otherwise libatomic would have to be linked.
#ifdef __SANITIZE_THREAD__
#define WIDE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WIDE 1
#endif
#endif

#ifdef WIDE
#define HALVES(value) ((wide)(value) << 64 | (value))

static wide pair, total;
static int data;

static void *write_halves(void *unused) {
    for (unsigned value = 1; value < 4; value++) __atomic_store_n(&pair, HALVES(value), __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&total, (wide)1 << 64, __ATOMIC_SEQ_CST);
    return unused;
}

static void *publish(void *unused) {
    data = 1;
    wide seen = __atomic_load_n(&total, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&total, &seen, seen + 1, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return unused;
}

static void operations(void) {
    const wide a = HALVES(12), b = HALVES(10);
    wide x = a;
    assert(__atomic_fetch_sub(&x, b, __ATOMIC_RELAXED) == a && x == HALVES(2));
    assert(__atomic_exchange_n(&x, a, __ATOMIC_RELAXED) == HALVES(2));
    assert(__atomic_fetch_and(&x, b, __ATOMIC_RELAXED) == a && x == HALVES(8));
    assert(__atomic_fetch_or(&x, a, __ATOMIC_RELAXED) == HALVES(8) && x == HALVES(12));
    assert(__atomic_fetch_xor(&x, b, __ATOMIC_RELAXED) == a && x == HALVES(6));
    assert(__atomic_fetch_nand(&x, a, __ATOMIC_RELAXED) == HALVES(6) && x == ~HALVES(4));
    wide wrong = a;
    assert(!__atomic_compare_exchange_n(&x, &wrong, b, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) && wrong == ~HALVES(4));
}

int main(void) {
    pthread_t a = start(write_halves, NULL), b = start(publish, NULL);
    wide seen = __atomic_load_n(&pair, __ATOMIC_SEQ_CST);
    assert((unsigned long)seen == (unsigned long)(seen >> 64));
    if ((unsigned long)__atomic_load_n(&total, __ATOMIC_ACQUIRE)) assert(data == 1);
    operations();
    join(a);
    join(b);
    assert(total == HALVES(1));
    return 0;
}
#else
int main(void) { return 0; }
#endif
