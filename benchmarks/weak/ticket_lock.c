/* A counter under a ticket lock with a relaxed unlock. */
#include "weak.h"

static atomic_int next, serving, counter;

static void *count(void *unused) {
    int ticket = add(&next, 1, relaxed);
    while (load(&serving, acquire) != ticket)
        ;
    store(&counter, load(&counter, relaxed) + 1, relaxed);
    store(&serving, ticket + 1, RIGHTLY(release, relaxed));
    return 0;
}

int main(void) {
    both(count, count);
    assert(load(&counter, relaxed) == 2);
}
