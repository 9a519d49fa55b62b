/* Treiber's stack. Nodes are used again at once, from a list of the thread that took them. TAGGED: the top has a counter, which
 * changes with every exchange; without it, a node that comes back makes an exchange succeed that should fail (ABA). */
#include "structure.h"

enum { NODES = 64 };
static struct {
    long value;
    unsigned next;
} nodes[NODES];
static unsigned long top;
static unsigned used;
static __thread unsigned own[NODES], own_count;
static __thread unsigned own_run;
static unsigned run;

static void make(void) {
    memset(nodes, 0, sizeof nodes);
    top = 0, used = 0, run++;
}

static unsigned node_of(unsigned long word) { return (unsigned)word; }
#ifdef TAGGED
static unsigned long word_of(unsigned node, unsigned long old) { return node | ((old >> 32) + 1) << 32; }
#else
static unsigned long word_of(unsigned node, unsigned long old) { return (void)old, node; }
#endif

static unsigned allocate(void) {
    if (own_run != run) own_run = run, own_count = 0;
    unsigned node = own[0];
    if (own_count > 0) return own[0] = own[--own_count], node;
    node = ADD(&used, 1) + 1;
    return node < NODES ? node : 0;
}

long put(long value) {
    unsigned node = allocate();
    if (!node) return FULL;
    nodes[node].value = value;
    unsigned long seen = LOAD(&top);
    do STORE(&nodes[node].next, node_of(seen));
    while (!CAS(&top, &seen, word_of(node, seen)));
    return 0;
}

long take(long unused) {
    unsigned long seen = LOAD(&top);
    (void)unused;
    unsigned node;
    do {
        node = node_of(seen);
        if (!node) return EMPTY;
    } while (!CAS(&top, &seen, word_of(LOAD(&nodes[node].next), seen)));
    long value = nodes[node].value;
    if (own_run != run) own_run = run, own_count = 0;
    own[own_count++] = node;
    return value;
}

PROGRAM(0, 0)
