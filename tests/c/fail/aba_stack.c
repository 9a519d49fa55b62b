// expect: assertion
// points: shared
// build: c
// A lock-free stack: a preempted pop restores a node on top that another thread owns.
#include "../threads.h"
#include <assert.h>
#include <stdatomic.h>

struct node {
    struct node *_Atomic next;
    atomic_int owners;
};
static struct node a, b, c;
static struct node *_Atomic head;

static struct node *pop(void) {
    struct node *top = atomic_load(&head);
    while (top != NULL) {
        struct node *next = atomic_load(&top->next);
        if (atomic_compare_exchange_strong(&head, &top, next)) break;
    }
    if (top != NULL) assert(atomic_fetch_add(&top->owners, 1) == 0);
    return top;
}

static void push(struct node *node) {
    atomic_fetch_sub(&node->owners, 1);
    struct node *top = atomic_load(&head);
    do {
        atomic_store(&node->next, top);
    } while (!atomic_compare_exchange_strong(&head, &top, node));
}

static void *pop_two_push_one(void *unused) {
    struct node *first = pop();
    pop();
    if (first != NULL) push(first);
    return unused;
}

int main(void) {
    atomic_store(&a.next, &b);
    atomic_store(&b.next, &c);
    atomic_store(&head, &a);
    pthread_t other = start(pop_two_push_one, NULL);
    pop();
    pop();
    join(other);
    return 0;
}
