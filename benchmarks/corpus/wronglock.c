// One thread protects a value with one lock, N - 1 others with another.
#include "corpus.h"

static lock_t right = LOCK_INIT;
#ifdef FIXED
#define wrong right
#else
static lock_t wrong = LOCK_INIT;
#endif
static volatile int value;

static void *check(void *unused) {
    lock(&right);
    int before = value;
    value = before + 1;
    assert(value == before + 1);
    unlock(&right);
    return unused;
}

static void *add(void *unused) {
    lock(&wrong);
    value++;
    unlock(&wrong);
    return unused;
}

int main(void) {
    pthread_t threads[N];
    threads[0] = start(check, NULL);
    for (int i = 1; i < N; i++) threads[i] = start(add, NULL);
    for (int i = 0; i < N; i++) join(threads[i]);
    return 0;
}
