// The work-stealing queues of work_steal_queue.c and, with -DINTERLOCKED, interlocked_work_steal_queue.c as state machines:
// each call of `advance` does one access to the queue, and the state of a machine is in memory visible to others.
#include "items.h"

enum state {
    IDLE,
    PUSH_ITEM,
    PUSH_TAIL,
    POP_TAIL,
    POP_HEAD,
    POP_TAKE,
    POP_LAST,
    POP_LOCK,
    POP_RECHECK,
    POP_RESTORE,
    POP_UNLOCK,
    STEAL_LOCK,
    STEAL_HEAD,
    STEAL_TAIL,
    STEAL_ITEM,
    STEAL_ADVANCE,
    STEAL_UNLOCK,
};

struct machine {
    volatile enum state state;
    volatile long first, last;
    volatile int item;
};

static atomic_long head, tail;
static volatile int queue[ITEMS];
static struct machine machines[1 + STEALERS];

#ifndef INTERLOCKED
static atomic_flag stealing = ATOMIC_FLAG_INIT;

static bool try_lock(void) {
    if (!atomic_flag_test_and_set(&stealing)) return true;
    sched_yield();
    return false;
}
#endif

static void advance_push(struct machine *me) {
    if (me->state == PUSH_ITEM) {
        me->last = atomic_load(&tail);
        queue[me->last] = me->item;
        me->state = PUSH_TAIL;
    } else {
        atomic_store(&tail, me->last + 1);
        me->state = IDLE;
    }
}

static void advance_pop(struct machine *me) {
    switch (me->state) {
    case POP_TAIL:
        me->last = atomic_load(&tail) - 1;
        atomic_store(&tail, me->last);
        me->state = POP_HEAD;
        break;
    case POP_HEAD:
        me->first = atomic_load(&head);
#ifdef INTERLOCKED
        me->state = me->first < me->last ? POP_TAKE : me->first == me->last ? POP_LAST : POP_RESTORE;
#else
        me->state = me->first <= me->last ? POP_TAKE : POP_LOCK;
#endif
        break;
    case POP_TAKE:
        me->item = queue[me->last];
        me->state = IDLE;
        break;
#ifdef INTERLOCKED
    case POP_LAST: {
#ifdef FIXED
        long first = me->first;
        if (atomic_compare_exchange_strong(&head, &first, first + 1)) me->item = queue[me->last];
#else
        me->item = queue[me->last];
        atomic_store(&head, me->first + 1);
#endif
        me->state = POP_RESTORE;
        break;
    }
    case POP_RESTORE:
        atomic_store(&tail, me->last + 1);
        me->state = IDLE;
        break;
#else
    case POP_LOCK:
        if (try_lock()) me->state = POP_RECHECK;
        break;
    case POP_RECHECK:
        if (atomic_load(&head) <= me->last) me->item = queue[me->last];
        me->state = me->item == NONE ? POP_RESTORE : POP_UNLOCK;
        break;
    case POP_RESTORE:
        atomic_store(&tail, me->last + 1);
        me->state = POP_UNLOCK;
        break;
    case POP_UNLOCK:
        atomic_flag_clear(&stealing);
        me->state = IDLE;
        break;
#endif
    default:
        assert(!"a state of pop");
    }
}

static void advance_steal(struct machine *me) {
    switch (me->state) {
#ifndef INTERLOCKED
    case STEAL_LOCK:
        if (try_lock()) me->state = STEAL_HEAD;
        break;
#endif
    case STEAL_HEAD:
        me->first = atomic_load(&head);
#if defined(FIXED) && !defined(INTERLOCKED)
        atomic_store(&head, me->first + 1);
#endif
        me->state = STEAL_TAIL;
        break;
    case STEAL_TAIL:
        me->state = me->first < atomic_load(&tail) ? STEAL_ITEM : STEAL_UNLOCK;
        break;
    case STEAL_ITEM:
        me->item = queue[me->first];
        me->state = STEAL_ADVANCE;
        break;
    case STEAL_ADVANCE: {
#ifdef INTERLOCKED
        long first = me->first;
        if (!atomic_compare_exchange_strong(&head, &first, first + 1)) me->item = NONE;
#elif !defined(FIXED)
        atomic_store(&head, me->first + 1);
#endif
        me->state = STEAL_UNLOCK;
        break;
    }
    case STEAL_UNLOCK:
#ifndef INTERLOCKED
#ifdef FIXED
        if (me->item == NONE) atomic_store(&head, me->first);
#endif
        atomic_flag_clear(&stealing);
#endif
        me->state = IDLE;
        break;
    default:
        assert(!"a state of steal");
    }
}

static int run(struct machine *me, enum state begin, int item) {
    me->item = item;
    me->state = begin;
    while (me->state != IDLE) {
        if (me->state <= PUSH_TAIL)
            advance_push(me);
        else if (me->state <= POP_UNLOCK)
            advance_pop(me);
        else
            advance_steal(me);
    }
    return me->item;
}

static void *thief(void *machine) {
#ifdef INTERLOCKED
    const enum state begin = STEAL_HEAD;
#else
    const enum state begin = STEAL_LOCK;
#endif
    for (int i = 0; i < STEALS; i++) take(run(machine, begin, NONE));
    return NULL;
}

static int pop(void) { return run(&machines[0], POP_TAIL, NONE); }

int main(void) {
    pthread_t thieves[STEALERS];
    for (int i = 0; i < STEALERS; i++) thieves[i] = start(thief, &machines[1 + i]);
    for (int i = 0; i < ITEMS; i += 2) {
        run(&machines[0], PUSH_ITEM, i);
        run(&machines[0], PUSH_ITEM, i + 1);
        take(pop());
    }
    for (int item = pop(); item != NONE; item = pop()) take(item);
    for (int i = 0; i < STEALERS; i++) join(thieves[i]);
    for (int item = pop(); item != NONE; item = pop()) take(item);
    assert_all_taken();
    return 0;
}
