// expect: pass
// points: shared
// build: c
// An initialization that three threads request executes once, and completes before any of them continues.
#include "../threads.h"
#include <assert.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int made, value;

static void make(void) {
    made++;
    value = 42;
}

static void *use(void *unused) {
    must(pthread_once(&once, make));
    assert(value == 42);
    return unused;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) threads[i] = start(use, NULL);
    for (int i = 0; i < 3; i++) join(threads[i]);
    assert(made == 1);
    return 0;
}
