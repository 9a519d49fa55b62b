/* A hazard pointer: no fence between the announcement of a pointer and the second look at it. */
#include "weak.h"

static atomic_int node_is_freed;
static atomic_int pointer = 1, hazard;

static void *read_node(void *unused) {
    int found = load(&pointer, acquire);
    store(&hazard, found, relaxed);
    RIGHTLY(fence(seq_cst), (void)0);
    if (found && load(&pointer, acquire) == found)
        assert(!load(&node_is_freed, seq_cst));
    store(&hazard, 0, release);
    return 0;
}

static void *retire(void *unused) {
    store(&pointer, 0, release);
    fence(seq_cst);
    if (!load(&hazard, acquire))
        store(&node_is_freed, 1, seq_cst);
    return 0;
}

int main(void) { both(read_node, retire); }
