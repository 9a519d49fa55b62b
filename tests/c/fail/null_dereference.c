// expect: signal
// points: shared
// build: c
// The pointer is cleared between the check and the use.
#include "../threads.h"

static int number = 1;
static int *volatile pointer = &number;
static volatile int sum;

static void *use(void *unused) {
    if (pointer != NULL) sum += *pointer;
    return unused;
}

static void *clear(void *unused) {
    pointer = NULL;
    return unused;
}

int main(void) {
    pthread_t a = start(use, NULL), b = start(clear, NULL);
    join(a);
    join(b);
    return 0;
}
