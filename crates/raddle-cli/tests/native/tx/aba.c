// The stack of figure 5.1 of the TXIT paper. Two threads pop two elements each and free the second; one pushes the first one
// back. An element that comes back makes a compare-and-exchange succeed that should fail: an element is freed twice.
#include <pthread.h>
#include <stdlib.h>

struct element {
    struct element *last;
};
static struct element *top;

void push(struct element *e) {
    struct element *seen;
    do {
        seen = __atomic_load_n(&top, __ATOMIC_SEQ_CST);
        e->last = seen;
    } while (!__atomic_compare_exchange_n(&top, &seen, e, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
}

struct element *pop(void) {
    struct element *seen, *last;
    do {
        seen = __atomic_load_n(&top, __ATOMIC_SEQ_CST);
        last = seen->last;
    } while (!__atomic_compare_exchange_n(&top, &seen, last, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return seen;
}

static void *first(void *unused) {
    pop();
    free(pop());
    return unused;
}

static void *second(void *unused) {
    struct element *x = pop(), *y = pop();
    push(x);
    free(y);
    return unused;
}

int main(void) {
    for (int i = 0; i < 4; i++) push(malloc(sizeof(struct element)));
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}
