/* A counter under the queue lock of Mellor-Crummey and Scott with a relaxed unlock. */
#include "weak.h"

struct waiter {
    _Atomic(struct waiter *) next;
    atomic_int waits;
};

static _Atomic(struct waiter *) tail;
static atomic_int counter;
static struct waiter waiters[2];

static void lock(struct waiter *me) {
    store(&me->waits, 1, relaxed);
    struct waiter *before = swap(&tail, me, acq_rel);
    if (before) {
        store(&before->next, me, release);
        while (load(&me->waits, acquire))
            ;
    }
}

static void unlock(struct waiter *me) {
    struct waiter *next = load(&me->next, acquire), *expected = me;
    if (!next) {
        if (exchange_if(&tail, &expected, 0, RIGHTLY(release, relaxed), relaxed))
            return;
        while (!(next = load(&me->next, acquire)))
            ;
    }
    store(&next->waits, 0, RIGHTLY(release, relaxed));
}

static void *count(void *number) {
    struct waiter *me = &waiters[number != 0];
    lock(me);
    store(&counter, load(&counter, relaxed) + 1, relaxed);
    unlock(me);
    return 0;
}

int main(void) {
    both(count, count);
    assert(load(&counter, relaxed) == 2);
}
