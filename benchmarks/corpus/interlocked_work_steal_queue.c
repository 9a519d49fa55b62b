// A double-ended queue without a lock: thieves advance the head by compare-and-exchange. The owner takes the last item
// without one.
#include "items.h"

static atomic_long head, tail;
static volatile int queue[ITEMS];

static void push(int item) {
    long last = atomic_load(&tail);
    queue[last] = item;
    atomic_store(&tail, last + 1);
}

static int pop(void) {
    long last = atomic_load(&tail) - 1;
    atomic_store(&tail, last);
    long first = atomic_load(&head);
    if (first < last) return queue[last];
    int item = NONE;
    if (first == last) {
#ifdef FIXED
        if (atomic_compare_exchange_strong(&head, &first, first + 1)) item = queue[last];
#else
        item = queue[last];
        atomic_store(&head, first + 1);
#endif
    }
    atomic_store(&tail, last + 1);
    return item;
}

static int steal(void) {
    long first = atomic_load(&head);
    if (first >= atomic_load(&tail)) return NONE;
    int item = queue[first];
    return atomic_compare_exchange_strong(&head, &first, first + 1) ? item : NONE;
}

static void *thief(void *unused) {
    for (int i = 0; i < STEALS; i++) take(steal());
    return unused;
}

int main(void) {
    pthread_t thieves[STEALERS];
    for (int i = 0; i < STEALERS; i++) thieves[i] = start(thief, NULL);
    for (int i = 0; i < ITEMS; i += 2) {
        push(i);
        push(i + 1);
        take(pop());
    }
    for (int item = pop(); item != NONE; item = pop()) take(item);
    for (int i = 0; i < STEALERS; i++) join(thieves[i]);
    for (int item = pop(); item != NONE; item = pop()) take(item);
    assert_all_taken();
    return 0;
}
