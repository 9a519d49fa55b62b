/* The hooks of an instrumented program that runs without Raddle: accesses are ignored, atomics are executed.
 *
 * The program is linked against this as a shared library, so that the runtime, which is loaded before it, overrides
 * its definitions. Nothing here may need another library, initialization or a thread: hooks are called before
 * constructors and after destructors. Atomics are sequentially consistent, which is at least the requested order.
 */
#include <stddef.h>
#include <stdint.h>

/* What comes before an access; transactions.c defines it. */
#ifndef POINT
#define POINT
#endif

#define ACCESS(name) \
    void __tsan_##name(void *address) { POINT (void)address; }
#define SIZES(name) ACCESS(name##1) ACCESS(name##2) ACCESS(name##4) ACCESS(name##8) ACCESS(name##16)
#define LARGE(name) ACCESS(name##2) ACCESS(name##4) ACCESS(name##8) ACCESS(name##16)

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
SIZES(read)
SIZES(write)
SIZES(read_write)
SIZES(volatile_read)
SIZES(volatile_write)
LARGE(unaligned_read)
LARGE(unaligned_write)
LARGE(unaligned_read_write)
LARGE(unaligned_volatile_read)
LARGE(unaligned_volatile_write)
ACCESS(vptr_read)
void __tsan_vptr_update(void **slot, void *value) { POINT (void)slot, (void)value; }
void __tsan_read_range(void *address, size_t size) { POINT (void)address, (void)size; }
void __tsan_write_range(void *address, size_t size) { POINT (void)address, (void)size; }
void __tsan_ignore_thread_begin(void) {}
void __tsan_ignore_thread_end(void) {}

/* Byte by byte, because a library function would be a dependency of this library. */
static void *move(void *to, const void *from, size_t size) {
    unsigned char *target = to;
    const unsigned char *source = from;
    if ((uintptr_t)target - (uintptr_t)source < size) {
        while (size-- > 0) target[size] = source[size];
    } else {
        for (size_t i = 0; i < size; i++) target[i] = source[i];
    }
    return to;
}
void *__tsan_memmove(void *to, const void *from, size_t size) { POINT return move(to, from, size); }
void *__tsan_memcpy(void *to, const void *from, size_t size) { POINT return move(to, from, size); }
void *__tsan_memset(void *to, int value, size_t size) {
    POINT
    for (size_t i = 0; i < size; i++) ((unsigned char *)to)[i] = (unsigned char)value;
    return to;
}

#define FETCH(bits, type, name) \
    type __tsan_atomic##bits##_fetch_##name(volatile type *p, type value, int order) { \
        POINT return (void)order, __atomic_fetch_##name(p, value, __ATOMIC_SEQ_CST); \
    }
#define ATOMIC(bits, type) \
    type __tsan_atomic##bits##_load(const volatile type *p, int order) { \
        POINT return (void)order, __atomic_load_n(p, __ATOMIC_SEQ_CST); \
    } \
    void __tsan_atomic##bits##_store(volatile type *p, type value, int order) { \
        POINT(void) order, __atomic_store_n(p, value, __ATOMIC_SEQ_CST); \
    } \
    type __tsan_atomic##bits##_exchange(volatile type *p, type value, int order) { \
        POINT return (void)order, __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST); \
    } \
    FETCH(bits, type, add) FETCH(bits, type, sub) FETCH(bits, type, and) \
    FETCH(bits, type, or) FETCH(bits, type, xor) FETCH(bits, type, nand) \
    COMPARE(bits, type, __atomic_compare_exchange_n(p, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
/* The three forms of compare-and-exchange; `exchange` stores the value found in `expected`. */
#define COMPARE(bits, type, exchange) \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type value, int o, int f) { \
        POINT(void) o, (void)f, (void)(exchange); \
        return expected; \
    } \
    static int compare##bits(volatile type *p, type *slot, type value) { \
        type expected = *slot, wanted = expected; \
        (void)(exchange); \
        if (expected != wanted) *slot = expected; \
        return expected == wanted; \
    } \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *slot, type value, int o, int f) { \
        POINT return (void)o, (void)f, compare##bits(p, slot, value); \
    } \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *slot, type value, int o, int f) { \
        POINT return (void)o, (void)f, compare##bits(p, slot, value); \
    }

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int order) { (void)order, __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int order) { (void)order, __atomic_signal_fence(__ATOMIC_SEQ_CST); }

#ifdef __x86_64__
/* The compilers' own functions of this size are in another library. */
typedef unsigned __int128 wide;
static wide compare_and_swap(volatile wide *p, wide expected, wide value) {
    uint64_t low = (uint64_t)expected, high = (uint64_t)(expected >> 64);
    __asm__ volatile("lock cmpxchg16b %0"
                     : "+m"(*p), "+a"(low), "+d"(high)
                     : "b"((uint64_t)value), "c"((uint64_t)(value >> 64))
                     : "memory", "cc");
    return (wide)high << 64 | low;
}
wide __tsan_atomic128_load(const volatile wide *p, int order) {
    POINT return (void)order, compare_and_swap((volatile wide *)p, 0, 0);
}
#define WIDE(name, result) \
    wide __tsan_atomic128_##name(volatile wide *p, wide value, int order) { \
        POINT wide old = *p, seen; \
        (void)order; \
        while ((seen = compare_and_swap(p, old, result)) != old) old = seen; \
        return old; \
    }
WIDE(exchange, value)
WIDE(fetch_add, old + value)
WIDE(fetch_sub, old - value)
WIDE(fetch_and, old & value)
WIDE(fetch_or, old | value)
WIDE(fetch_xor, old ^ value)
WIDE(fetch_nand, ~(old & value))
void __tsan_atomic128_store(volatile wide *p, wide value, int order) {
    POINT(void) order;
    for (wide old = *p, seen; (seen = compare_and_swap(p, old, value)) != old;) old = seen;
}
COMPARE(128, wide, expected = compare_and_swap(p, expected, value))
#endif

/* Programs that include raddle/linearizable.h call these. */
void raddle_call(const void *objects, unsigned thread, unsigned threads) { (void)objects, (void)thread, (void)threads; }
void raddle_return(const void *objects, unsigned thread, unsigned threads) { (void)objects, (void)thread, (void)threads; }

/* Programs with ThreadSanitizer annotations call these. */
#define NOTHING(name) \
    void name(void) {}
NOTHING(__tsan_acquire)
NOTHING(__tsan_release)
NOTHING(__tsan_mutex_create)
NOTHING(__tsan_mutex_destroy)
NOTHING(__tsan_mutex_pre_lock)
NOTHING(__tsan_mutex_post_lock)
int __tsan_mutex_pre_unlock(void) { return 0; }
NOTHING(__tsan_mutex_post_unlock)
NOTHING(__tsan_mutex_pre_signal)
NOTHING(__tsan_mutex_post_signal)
NOTHING(__tsan_mutex_pre_divert)
NOTHING(__tsan_mutex_post_divert)
static char fiber;
void *__tsan_get_current_fiber(void) { return &fiber; }
void *__tsan_create_fiber(void) { return &fiber; }
NOTHING(__tsan_destroy_fiber)
NOTHING(__tsan_switch_to_fiber)
NOTHING(__tsan_set_fiber_name)
void *__tsan_external_register_tag(void) { return &fiber; }
NOTHING(__tsan_external_register_header)
NOTHING(__tsan_external_assign_tag)
NOTHING(__tsan_external_read)
NOTHING(__tsan_external_write)
NOTHING(AnnotateHappensBefore)
NOTHING(AnnotateHappensAfter)
NOTHING(AnnotateRWLockCreate)
NOTHING(AnnotateRWLockCreateStatic)
NOTHING(AnnotateRWLockDestroy)
NOTHING(AnnotateRWLockAcquired)
NOTHING(AnnotateRWLockReleased)
NOTHING(AnnotateBenignRace)
NOTHING(AnnotateBenignRaceSized)
NOTHING(AnnotateIgnoreReadsBegin)
NOTHING(AnnotateIgnoreReadsEnd)
NOTHING(AnnotateIgnoreWritesBegin)
NOTHING(AnnotateIgnoreWritesEnd)
NOTHING(AnnotateIgnoreSyncBegin)
NOTHING(AnnotateIgnoreSyncEnd)
NOTHING(AnnotateThreadName)
NOTHING(AnnotateNewMemory)
