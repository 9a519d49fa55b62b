/* Enforces transactions: groups of accesses of the operations of a data structure between which no other operation comes.
 *
 * `raddle tx build` compiles this with the marks of one plan, TABLE, in place of the hooks of a program. A transaction is a
 * critical section of one lock for the whole process, or a hardware transaction (RTM) where the processor has them, with the
 * lock as its fallback. Other code of the program takes part in no transaction.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BEFORE = 1, AFTER = 2, OPERATION = 4 };
/* Addresses in the file: after the call of a hook, or the first of a function. */
static const struct { uint64_t address; unsigned char mark; } table[] = {TABLE};

/* A byte for each address of the code of the program. */
static unsigned char *marks;
static uintptr_t code, length;

static int find_code(struct dl_phdr_info *info, size_t size, void *first_only) {
    (void)size, (void)first_only;
    uintptr_t from = UINTPTR_MAX, to = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        if (part->p_vaddr < from) from = part->p_vaddr;
        if (part->p_vaddr + part->p_memsz > to) to = part->p_vaddr + part->p_memsz;
    }
    if (from >= to) return 1;
    void *memory = mmap(0, to - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        static const char message[] = "raddle: no memory for the marks of transactions\n";
        if (write(2, message, sizeof message - 1) < 0) _exit(70);
        _exit(70);
    }
    unsigned char *all = memory;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].address >= from && table[i].address < to) all[table[i].address - from] |= table[i].mark;
#ifdef FROM_ENVIRONMENT
    const char *name = getenv("RADDLE_TRANSACTIONS");
    FILE *file = name ? fopen(name, "r") : 0;
    unsigned long address;
    unsigned mark;
    while (file && fscanf(file, "%lx %u", &address, &mark) == 2)
        if (address >= from && address < to) all[address - from] |= (unsigned char)mark;
    if (file) fclose(file);
#endif
    code = info->dlpi_addr + from, length = to - from, marks = all;
    return 1; /* The first is the program. */
}

static unsigned char mark_of(void *address) {
    uintptr_t at = (uintptr_t)address - code;
    return at < length ? marks[at] : 0;
}

/* 0: free, 1: locked, 2: locked, and there may be waiters. */
static int lock_word __attribute__((aligned(64)));

static void lock(void) {
    for (int spins = 0; spins < 100; spins++) {
        int free = 0;
        if (__atomic_compare_exchange_n(&lock_word, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
        __builtin_ia32_pause();
    }
    while (__atomic_exchange_n(&lock_word, 2, __ATOMIC_ACQUIRE) != 0)
        syscall(SYS_futex, &lock_word, 128 /* FUTEX_WAIT | FUTEX_PRIVATE_FLAG */, 2, 0, 0, 0);
}

static void unlock(void) {
    if (__atomic_exchange_n(&lock_word, 0, __ATOMIC_RELEASE) == 2)
        syscall(SYS_futex, &lock_word, 129 /* FUTEX_WAKE | FUTEX_PRIVATE_FLAG */, 1, 0, 0, 0);
}

/* The operation that a thread executes. */
struct progress {
    unsigned depth;
    char fresh, open, in_hardware;
};
static __thread struct progress mine __attribute__((tls_model("initial-exec")));
static int has_rtm;

#define XBEGUN (~0u)
#define XABORTED_BY_US 1u
#define XMAY_RETRY 2u
#define XCONFLICT 4u

/* An abort continues after `xbegin` here, with its previous memory and registers, so it may be left meanwhile. */
__attribute__((target("rtm"), noinline)) static int begin_in_hardware(void) {
    for (unsigned attempt = 0; attempt < 8; attempt++) {
        unsigned status = __builtin_ia32_xbegin();
        if (status == XBEGUN) {
            if (__atomic_load_n(&lock_word, __ATOMIC_RELAXED) == 0) return 1;
            __builtin_ia32_xabort(1);
        }
        if (!(status & (XABORTED_BY_US | XMAY_RETRY | XCONFLICT))) return 0;
        for (unsigned i = 0; i < 16u << attempt; i++) __builtin_ia32_pause();
    }
    return 0;
}
__attribute__((target("rtm"), noinline)) static void end_in_hardware(void) { __builtin_ia32_xend(); }

static void begin_transaction(void) {
    int hardware = has_rtm && begin_in_hardware();
    if (!hardware) lock();
    mine.in_hardware = (char)hardware;
    mine.open = 1;
    mine.fresh = 0;
}

static void end_transaction(void) {
    mine.open = 0;
    if (mine.in_hardware) end_in_hardware();
    else unlock();
}

static void at_access(void *back) {
    unsigned char mark = mark_of(back);
    if (mine.fresh || mark & BEFORE) {
        if (mine.open) end_transaction();
        begin_transaction();
    }
    if (mark & AFTER) mine.fresh = 1;
}

void __cyg_profile_func_enter(void *function, void *site) {
    (void)site;
    if (mark_of(function) & OPERATION && mine.depth++ == 0) mine.fresh = 1;
}

void __cyg_profile_func_exit(void *function, void *site) {
    (void)site;
    if (mark_of(function) & OPERATION && --mine.depth == 0 && mine.open) end_transaction();
}

__attribute__((constructor)) static void prepare(void) {
    unsigned a = 7, b, c = 0, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    /* The second bit: every transaction is aborted. */
    has_rtm = (b >> 11 & 1) && !(d >> 11 & 1);
    dl_iterate_phdr(find_code, 0);
}

#define POINT \
    if (mine.depth) at_access(__builtin_return_address(0));
#include "hooks.c"
