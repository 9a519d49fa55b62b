// A lock-free stack of indices. Pop marks the top item by clearing its link and restores the link if it loses the race
// for the head; with three threads and five switches an item that was popped and pushed again gets a stale link, and
// two threads own the same item.
#include "corpus.h"
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 3, ROUNDS = 2, NOTHING = -1 };

static struct {
    atomic_int next;
    volatile int owner;
} items[THREADS];
static atomic_int head, count = THREADS;

#ifdef FIXED
static lock_t mutex = LOCK_INIT;
#endif

static int pop(void) {
    while (atomic_load(&count) > 1) {
        int top = atomic_load(&head);
        int next = atomic_exchange(&items[top].next, NOTHING);
        if (next >= 0) {
            int expected = top;
            if (atomic_compare_exchange_strong(&head, &expected, next)) {
                atomic_fetch_sub(&count, 1);
                return top;
            }
            atomic_exchange(&items[top].next, next);
        }
    }
    return NOTHING;
}

static void push(int index) {
    int top = atomic_load(&head);
    do {
        atomic_store(&items[index].next, top);
    } while (!atomic_compare_exchange_strong(&head, &top, index));
    atomic_fetch_add(&count, 1);
}

static void *use(void *argument) {
    int me = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        int item;
        do {
#ifdef FIXED
            lock(&mutex);
#endif
            item = pop();
#ifdef FIXED
            unlock(&mutex);
#endif
            if (item == NOTHING) sched_yield();
        } while (item == NOTHING);
        items[item].owner = me;
        assert(items[item].owner == me);
#ifdef FIXED
        lock(&mutex);
#endif
        push(item);
#ifdef FIXED
        unlock(&mutex);
#endif
    }
    return NULL;
}

int main(void) {
    for (int i = 0; i + 1 < THREADS; i++) atomic_store(&items[i].next, i + 1);
    atomic_store(&items[THREADS - 1].next, NOTHING);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) threads[i] = start(use, (void *)(long)i);
    for (int i = 0; i < THREADS; i++) join(threads[i]);
    return 0;
}
