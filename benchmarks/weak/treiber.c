/* Treiber's stack: push publishes its node with a relaxed exchange. */
#include "weak.h"

struct node {
    atomic_int value;
    _Atomic(struct node *) next;
};

static _Atomic(struct node *) top;
static struct node nodes[2];

static void *push(void *unused) {
    for (int i = 0; i < 2; i++) {
        store(&nodes[i].value, 3, relaxed);
        struct node *next = load(&top, relaxed);
        do
            store(&nodes[i].next, next, relaxed);
        while (!exchange_if(&top, &next, &nodes[i], RIGHTLY(release, relaxed), relaxed));
    }
    return 0;
}

static void *pop(void *unused) {
    struct node *found = load(&top, acquire);
    /* A node is never pushed twice, so that there is no ABA. */
    while (found && !exchange_if(&top, &found, load(&found->next, relaxed), acquire, acquire))
        ;
    if (found)
        assert(load(&found->value, relaxed) == 3);
    return 0;
}

int main(void) { both(push, pop); }
