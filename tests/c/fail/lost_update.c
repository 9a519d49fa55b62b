// expect: assertion
// points: shared
// build: c
// Two threads add 1 with a read and a write. One addition is lost if both read first.
#include "../threads.h"
#include <assert.h>

static volatile int x;

static void *add(void *unused) {
    int t = x;
    x = t + 1;
    return unused;
}

int main(void) {
    pthread_t a = start(add, NULL), b = start(add, NULL);
    join(a);
    join(b);
    assert(x == 2);
    return 0;
}
