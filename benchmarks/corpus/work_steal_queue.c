// A double-ended queue: its owner pushes and pops at the tail, others steal at the head under a spin lock. Owner and thief
// detect from head and tail that they want the same item, provided that each moves its end first and looks then. Here
// the thief looks first.
#include "items.h"

static volatile long head, tail;
static volatile int queue[ITEMS];
static atomic_flag stealing = ATOMIC_FLAG_INIT;

static void spin_lock(void) {
    while (atomic_flag_test_and_set(&stealing)) sched_yield();
}

static void spin_unlock(void) { atomic_flag_clear(&stealing); }

static void push(int item) {
    queue[tail] = item;
    tail = tail + 1;
}

static int pop(void) {
    long last = tail - 1;
    tail = last;
    if (head <= last) return queue[last];
    spin_lock();
    bool mine = head <= last;
    if (!mine) tail = last + 1;
    spin_unlock();
    return mine ? queue[last] : NONE;
}

static int steal(void) {
    spin_lock();
    long first = head;
    int item = NONE;
#ifdef FIXED
    head = first + 1;
    if (first < tail)
        item = queue[first];
    else
        head = first;
#else
    if (first < tail) {
        item = queue[first];
        head = first + 1;
    }
#endif
    spin_unlock();
    return item;
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
