// expect: assertion
// points: shared
// build: c
// Every access is atomic, so there is no data race; the addition as a whole is not.
#include "../threads.h"
#include <assert.h>
#include <stdatomic.h>

static atomic_int x;

static void *add(void *unused) {
    int t = atomic_load(&x);
    atomic_store(&x, t + 1);
    return unused;
}

int main(void) {
    pthread_t a = start(add, NULL), b = start(add, NULL);
    join(a);
    join(b);
    assert(atomic_load(&x) == 2);
    return 0;
}
