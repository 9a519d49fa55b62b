/* A ring for one producer and one consumer. WRONG: an element is published before it is written. */
#include "structure.h"

enum { SIZE = 4 };
static long slots[SIZE];
static unsigned long head, tail;

static void make(void) { head = tail = 0; }

long put(long value) {
    unsigned long at = LOAD(&tail);
    if (at - LOAD(&head) == SIZE) return FULL;
#ifdef WRONG
    STORE(&tail, at + 1);
    slots[at % SIZE] = value;
#else
    slots[at % SIZE] = value;
    STORE(&tail, at + 1);
#endif
    return 0;
}

long take(long unused) {
    unsigned long at = LOAD(&head);
    (void)unused;
    if (at == LOAD(&tail)) return EMPTY;
    long value = slots[at % SIZE];
    STORE(&head, at + 1);
    return value;
}

PROGRAM("producer", "consumer")
