// expect: pass
// points: shared
// build: c
// A lock made of an atomic variable and the system call futex.
#include "../threads.h"
#include <assert.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int state; /* 0 free, 1 held, 2 held with waiters */
static int x;

static void lock(void) {
    int old = 0;
    if (atomic_compare_exchange_strong(&state, &old, 1)) return;
    while (atomic_exchange(&state, 2) != 0) syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void unlock(void) {
    if (atomic_exchange(&state, 0) == 2) syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *count(void *unused) {
    for (int i = 0; i < 2; i++) {
        lock();
        x++;
        unlock();
    }
    return unused;
}

int main(void) {
    pthread_t a = start(count, NULL), b = start(count, NULL), c = start(count, NULL);
    join(a);
    join(b);
    join(c);
    assert(x == 6);
    return 0;
}
