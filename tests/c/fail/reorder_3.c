// expect: assertion
// points: shared
// build: c
// Two setters and one checker, which may see only one of the two writes.
#include "../threads.h"
#include <assert.h>

static volatile int a, b;

static void *set(void *unused) {
    a = 1;
    b = -1;
    return unused;
}

static void *check(void *unused) {
    int u = a;
    int v = b;
    assert((u == 0 && v == 0) || (u == 1 && v == -1));
    return unused;
}

int main(void) {
    pthread_t first = start(set, NULL), second = start(set, NULL), checker = start(check, NULL);
    join(first);
    join(second);
    join(checker);
    return 0;
}
