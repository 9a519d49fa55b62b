/* Vyukov's bounded queue for any number of producers and consumers. It is not linearizable: a queue whose first element is not
 * written yet looks empty although a later one is. WRONG: a cell is released before it is read, so an element is overwritten. */
#include "structure.h"

enum { SIZE = 2 };
static struct {
    unsigned long turn;
    long value;
} cells[SIZE];
static unsigned long head, tail;

static void make(void) {
    for (unsigned long i = 0; i < SIZE; i++) cells[i].turn = i;
    head = tail = 0;
}

long put(long value) {
    unsigned long at = LOAD(&tail);
    for (;;) {
        long ahead = (long)(LOAD(&cells[at % SIZE].turn) - at);
        if (ahead < 0) return FULL;
        if (ahead > 0) at = LOAD(&tail);
        else if (CAS(&tail, &at, at + 1)) break;
    }
    cells[at % SIZE].value = value;
    STORE(&cells[at % SIZE].turn, at + 1);
    return 0;
}

long take(long unused) {
    unsigned long at = LOAD(&head);
    (void)unused;
    for (;;) {
        long ahead = (long)(LOAD(&cells[at % SIZE].turn) - (at + 1));
        if (ahead < 0) return EMPTY;
        if (ahead > 0) at = LOAD(&head);
        else if (CAS(&head, &at, at + 1)) break;
    }
#ifdef WRONG
    STORE(&cells[at % SIZE].turn, at + SIZE);
    return cells[at % SIZE].value;
#else
    long value = cells[at % SIZE].value;
    STORE(&cells[at % SIZE].turn, at + SIZE);
    return value;
#endif
}

PROGRAM(0, 0)
