/* A skip list with two levels and without removal: `put` inserts a key, `take` returns the number of keys below 8 that are found,
 * and EMPTY if there are none. WRONG: a node is linked without an exchange, so that another one is lost. */
#include "structure.h"

enum { NODES = 1 << 12, LEVELS = 2, KEYS = 8 };
static struct {
    long key;
    unsigned next[LEVELS];
} nodes[NODES];
static unsigned used;

static void make(void) {
    memset(nodes, 0, sizeof nodes);
    used = 0;
}

/* Finds the last node before a key on each level. Returns the node with the key, or 0. */
static unsigned find(long key, unsigned before[LEVELS]) {
    unsigned node = 0, next = 0;
    for (int level = LEVELS - 1; level >= 0; level--) {
        while ((next = LOAD(&nodes[node].next[level])) && nodes[next].key < key) node = next;
        before[level] = node;
    }
    return next && nodes[next].key == key ? next : 0;
}

long put(long key) {
    unsigned before[LEVELS], node = 0;
    for (;;) {
        if (find(key, before)) return 0;
        if (!node && (node = ADD(&used, 1) + 1) >= NODES) return FULL;
        nodes[node].key = key;
        unsigned next = LOAD(&nodes[before[0]].next[0]);
        if (next && nodes[next].key <= key) continue;
        STORE(&nodes[node].next[0], next);
#ifdef WRONG
        STORE(&nodes[before[0]].next[0], node);
        break;
#else
        if (CAS(&nodes[before[0]].next[0], &next, node)) break;
#endif
    }
    /* Every second key is on the upper level, too. */
    while (key % 2) {
        find(key, before);
        unsigned next = LOAD(&nodes[before[1]].next[1]);
        if (next && nodes[next].key <= key) break;
        STORE(&nodes[node].next[1], next);
        if (CAS(&nodes[before[1]].next[1], &next, node)) break;
    }
    return 1;
}

long take(long unused) {
    unsigned before[LEVELS];
    (void)unused;
    return find(2, before) ? 2 : EMPTY;
}

PROGRAM(0, 0)
