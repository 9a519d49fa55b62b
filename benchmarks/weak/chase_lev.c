/* The deque of Chase and Lev as Le, Pop, Cohen and Zappa Nardelli (PPoPP 2013) give it, without the fence in take. */
#include "weak.h"

enum { ITEMS = 2, NONE = -1 };

static atomic_int top, bottom, items[ITEMS], taken[ITEMS];

static void push(int item) {
    int b = load(&bottom, relaxed);
    store(&items[b % ITEMS], item, relaxed);
    fence(release);
    store(&bottom, b + 1, relaxed);
}

static int take(void) {
    int b = load(&bottom, relaxed) - 1;
    store(&bottom, b, relaxed);
    RIGHTLY(fence(seq_cst), (void)0);
    int t = load(&top, relaxed), item = NONE;
    if (t <= b) {
        item = load(&items[b % ITEMS], relaxed);
        if (t < b)
            return item;
        if (!exchange_if(&top, &t, t + 1, seq_cst, relaxed))
            item = NONE;
    }
    store(&bottom, b + 1, relaxed);
    return item;
}

static int steal(void) {
    int t = load(&top, acquire);
    fence(seq_cst);
    if (t >= load(&bottom, acquire))
        return NONE;
    int item = load(&items[t % ITEMS], relaxed);
    return exchange_if(&top, &t, t + 1, seq_cst, relaxed) ? item : NONE;
}

static void use(int item) {
    if (item != NONE)
        assert(add(&taken[item], 1, seq_cst) == 0);
}

static void *own(void *unused) {
    push(0);
    push(1);
    use(take());
    return 0;
}

static void *rob(void *unused) {
    use(steal());
    use(steal());
    return 0;
}

int main(void) { both(own, rob); }
