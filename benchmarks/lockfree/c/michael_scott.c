/* The queue of Michael and Scott (1996), without reuse of nodes. WRONG: the tail is set without an exchange, so that a slow thread
 * sets it back, and elements are lost. */
#include "structure.h"

#ifdef LINEARIZABLE
enum { NODES = 64 };
#else
enum { NODES = 1 << 21 };
#endif
static struct {
    long value;
    unsigned next;
} nodes[NODES];
static unsigned head, tail, used;

static void make(void) {
#ifdef LINEARIZABLE
    memset(nodes, 0, sizeof nodes);
#endif
    head = tail = 1, used = 1;
}

long put(long value) {
    unsigned node = ADD(&used, 1) + 1;
    if (node >= NODES) return FULL;
    nodes[node].value = value;
    for (;;) {
        unsigned last = LOAD(&tail), next = LOAD(&nodes[last].next);
#ifdef WRONG
        STORE(&nodes[last].next, node);
        STORE(&tail, node);
        (void)next;
        return 0;
#else
        if (next) {
            CAS(&tail, &last, next);
        } else if (CAS(&nodes[last].next, &next, node)) {
            CAS(&tail, &last, node);
            return 0;
        }
#endif
    }
}

long take(long unused) {
    (void)unused;
    for (;;) {
        unsigned first = LOAD(&head), last = LOAD(&tail), next = LOAD(&nodes[first].next);
        if (first == last) {
            if (!next) return EMPTY;
            CAS(&tail, &last, next);
        } else if (next) {
            long value = nodes[next].value;
            if (CAS(&head, &first, next)) return value;
        } else if (first == LOAD(&head)) {
            return EMPTY;
        }
    }
}

PROGRAM(0, 0)
