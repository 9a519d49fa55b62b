// Pop reads the top node and its successor; meanwhile another thread pops both and pushes the first back. The exchange
// succeeds, and the second node, which the other thread owns, is on top and is freed twice. In the repaired stack the head counts its changes.
#include "corpus.h"
#include <stdatomic.h>
#include <stdint.h>

enum { NODES = 3, NONE = NODES };

struct node {
    volatile uint32_t next;
};

static struct node *volatile nodes[NODES];
static _Atomic uint64_t head;

static uint64_t with_top(uint64_t old, uint32_t top) {
#ifdef FIXED
    return ((old >> 32) + 1) << 32 | top;
#else
    return (void)old, top;
#endif
}

static uint32_t pop(void) {
    for (;;) {
        uint64_t seen = atomic_load(&head);
        uint32_t top = (uint32_t)seen;
        if (top == NONE) return NONE;
        uint32_t next = nodes[top]->next;
        if (atomic_compare_exchange_strong(&head, &seen, with_top(seen, next))) return top;
    }
}

static void push(uint32_t index) {
    uint64_t seen = atomic_load(&head);
    do {
        nodes[index]->next = (uint32_t)seen;
    } while (!atomic_compare_exchange_strong(&head, &seen, with_top(seen, index)));
}

static void *pop_two_push_one(void *second) {
    uint32_t first = pop();
    *(uint32_t *)second = pop();
    if (first != NONE) push(first);
    return NULL;
}

static void release(uint32_t index) {
    if (index != NONE) free(nodes[index]);
}

int main(void) {
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[i] = malloc(sizeof(struct node));
        nodes[i]->next = i + 1;
    }
    uint32_t second = NONE;
    pthread_t other = start(pop_two_push_one, &second);
    uint32_t mine = pop();
    join(other);
    for (uint32_t left = pop(); left != NONE; left = pop()) release(left);
    release(mine);
    release(second);
    return 0;
}
