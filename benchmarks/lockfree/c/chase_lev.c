/* The deque of Chase and Lev (2005) with a fixed buffer: the owner puts at one end, others take from the other one. (The owner's
 * own `take` is that of the others here.) WRONG: an element is taken without an exchange, so that two threads get it. */
#include "structure.h"

enum { SIZE = 64 };
static long buffer[SIZE];
static unsigned long oldest, newest;

static void make(void) { oldest = newest = 0; }

long put(long value) {
    unsigned long at = LOAD(&newest);
    if (at - LOAD(&oldest) == SIZE) return FULL;
    STORE(&buffer[at % SIZE], value);
    STORE(&newest, at + 1);
    return 0;
}

long take(long unused) {
    (void)unused;
    for (;;) {
        unsigned long at = LOAD(&oldest);
        if (at >= LOAD(&newest)) return EMPTY;
        long value = LOAD(&buffer[at % SIZE]);
#ifdef WRONG
        STORE(&oldest, at + 1);
        return value;
#else
        if (CAS(&oldest, &at, at + 1)) return value;
#endif
    }
}

PROGRAM("owner", 0)
