// Three threads each copy the value of the previous one; the fourth expects the value to have gone round. No thread
// waits for another.
#include "corpus.h"

static lock_t mutex = LOCK_INIT;
static volatile int x1 = 1, x2 = 2, x3 = 1;
static pthread_t before[4];

/* In the repaired program a thread begins when the one before it has ended. */
static void await(int number) {
#ifdef FIXED
    if (number > 0) join(before[number - 1]);
#else
    (void)number;
#endif
}

static void *first(void *unused) {
    await(0);
    lock(&mutex);
    x1 = (x3 + 1) % 4;
    unlock(&mutex);
    return unused;
}

static void *second(void *unused) {
    await(1);
    lock(&mutex);
    x2 = x1;
    unlock(&mutex);
    return unused;
}

static void *third(void *unused) {
    await(2);
    lock(&mutex);
    x3 = x2;
    unlock(&mutex);
    return unused;
}

static void *last(void *unused) {
    await(3);
    lock(&mutex);
    assert(x1 == x2 && x2 == x3);
    unlock(&mutex);
    return unused;
}

int main(void) {
    void *(*parts[])(void *) = {first, second, third, last};
    for (int i = 0; i < 4; i++) before[i] = start(parts[i], NULL);
    return 0;
}
