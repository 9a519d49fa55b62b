// Writers update two related fields, each under its own lock; a reader runs in between. No access races.
#include "corpus.h"

#if N > 1
enum { WRITERS = N - 1 };
#else
enum { WRITERS = 1 };
#endif

static lock_t first_lock = LOCK_INIT, second_lock = LOCK_INIT;
static volatile int first, second;

static void *write_both(void *unused) {
#ifdef FIXED
    lock(&second_lock);
#endif
    lock(&first_lock);
    first = 1;
    unlock(&first_lock);
#ifndef FIXED
    lock(&second_lock);
#endif
    second = first + 1;
    unlock(&second_lock);
    return unused;
}

static void *read_both(void *unused) {
#ifdef FIXED
    lock(&second_lock);
#endif
    lock(&first_lock);
    int seen = first;
    unlock(&first_lock);
#ifndef FIXED
    if (seen == 0) return unused;
    lock(&second_lock);
#endif
    assert(seen == 0 || second == seen + 1);
    unlock(&second_lock);
    return unused;
}

int main(void) {
    pthread_t writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) writers[i] = start(write_both, NULL);
    pthread_t reader = start(read_both, NULL);
    for (int i = 0; i < WRITERS; i++) join(writers[i]);
    join(reader);
    return 0;
}
