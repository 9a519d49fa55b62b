// expect: pass
// points: shared
// build: c
// options: --races fail
// Locks and flags in assembly, which have no hooks; annotations declare their ordering.
#include "../threads.h"

#include <assert.h>

#define WEAK __attribute__((weak))
WEAK void AnnotateHappensBefore(const char *file, int line, const volatile void *address);
WEAK void AnnotateHappensAfter(const char *file, int line, const volatile void *address);
WEAK void __tsan_acquire(void *address);
WEAK void __tsan_release(void *address);
WEAK void __tsan_mutex_create(void *address, unsigned flags);
WEAK void __tsan_mutex_pre_lock(void *address, unsigned flags);
WEAK void __tsan_mutex_post_lock(void *address, unsigned flags, int recursion);
WEAK int __tsan_mutex_pre_unlock(void *address, unsigned flags);
WEAK void __tsan_mutex_post_unlock(void *address, unsigned flags);
WEAK void __tsan_mutex_destroy(void *address, unsigned flags);

#define TRY_LOCK 16
#define TRY_LOCK_FAILED 32
#define TELL(function, ...) (function ? (void)function(__VA_ARGS__) : (void)0)

static int first, second, both, counter;
static int first_flag, second_flag, lock;

static int swap(int *word, int value) {
    __asm__ volatile("xchg %0, %1" : "+r"(value), "+m"(*word) : : "memory");
    return value;
}

static void count(void) {
    TELL(__tsan_mutex_pre_lock, &lock, TRY_LOCK);
    int taken = swap(&lock, 1) == 0;
    TELL(__tsan_mutex_post_lock, &lock, TRY_LOCK | (taken ? 0 : TRY_LOCK_FAILED), 0);
    if (!taken) return;
    counter++;
    TELL(__tsan_mutex_pre_unlock, &lock, 0);
    swap(&lock, 0);
    TELL(__tsan_mutex_post_unlock, &lock, 0);
}

static void *write_first(void *unused) {
    first = 1;
    TELL(AnnotateHappensBefore, __FILE__, __LINE__, &both);
    swap(&first_flag, 1);
    count();
    return unused;
}

static void *write_second(void *unused) {
    second = 2;
    TELL(__tsan_release, &both);
    swap(&second_flag, 1);
    count();
    return unused;
}

int main(void) {
    TELL(__tsan_mutex_create, &lock, 0);
    pthread_t a = start(write_first, NULL), b = start(write_second, NULL);
    count();
    if (swap(&first_flag, 0) && swap(&second_flag, 0)) {
        TELL(AnnotateHappensAfter, __FILE__, __LINE__, &both);
        TELL(__tsan_acquire, &both);
        both = first + second;
        assert(both == 3);
    }
    join(a);
    join(b);
    assert(counter >= 1);
    TELL(__tsan_mutex_destroy, &lock, 0);
    return 0;
}
