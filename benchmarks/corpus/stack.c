// A flag records that something was pushed, and is never reset: a thread that pops faster than the other pushes finds an
// empty stack.
#include "corpus.h"

enum { ROUNDS = 5 };

static lock_t mutex = LOCK_INIT;
static volatile int items[ROUNDS], height;
static volatile bool pushed;

static void *push(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        lock(&mutex);
        items[height++] = i;
        pushed = true;
        unlock(&mutex);
    }
    return unused;
}

static void *pop(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        lock(&mutex);
        if (pushed) {
            assert(height > 0);
            height--;
#ifdef FIXED
            pushed = height > 0;
#endif
        }
        unlock(&mutex);
    }
    return unused;
}

int main(void) {
    pthread_t pusher = start(push, NULL), popper = start(pop, NULL);
    join(pusher);
    join(popper);
    return 0;
}
