/* Epoch-based reclamation: a reader pins the epoch without a fence between the pin and its loads. */
#include "weak.h"

struct node {
    atomic_int is_freed;
};

static struct node node;
static _Atomic(struct node *) list = &node;
static atomic_int epoch, local; /* local: 2 * epoch + 1 while pinned, else 0 */

static void *read_list(void *unused) {
    store(&local, 2 * load(&epoch, relaxed) + 1, relaxed);
    RIGHTLY(fence(seq_cst), (void)0);
    struct node *found = load(&list, acquire);
    if (found)
        assert(!load(&found->is_freed, seq_cst));
    store(&local, 0, release);
    return 0;
}

static int try_advance(void) {
    int now = load(&epoch, relaxed);
    fence(seq_cst);
    int pinned = load(&local, relaxed);
    if (pinned && pinned / 2 != now)
        return 0;
    fence(acquire);
    store(&epoch, now + 1, release);
    return 1;
}

static void *reclaim(void *unused) {
    struct node *old = swap(&list, 0, acq_rel);
    /* After two epochs no reader has the node. */
    if (try_advance() && try_advance())
        store(&old->is_freed, 1, seq_cst);
    return 0;
}

int main(void) { both(read_list, reclaim); }
