// N - 1 setters write two variables, a checker expects to see both writes or none.
#include "corpus.h"

static volatile int a, b;
#ifdef FIXED
static lock_t mutex = LOCK_INIT;
#define TOGETHER(statements) lock(&mutex), statements, unlock(&mutex)
#else
#define TOGETHER(statements) statements
#endif

static void *set(void *unused) {
    TOGETHER((a = 1, b = -1));
    return unused;
}

static void *check(void *unused) {
    int seen_a, seen_b;
    TOGETHER((seen_a = a, seen_b = b));
    assert((seen_a == 0 && seen_b == 0) || (seen_a == 1 && seen_b == -1));
    return unused;
}

int main(void) {
    pthread_t setters[N - 1];
    for (int i = 0; i < N - 1; i++) setters[i] = start(set, NULL);
    pthread_t checker = start(check, NULL);
    for (int i = 0; i < N - 1; i++) join(setters[i]);
    join(checker);
    return 0;
}
