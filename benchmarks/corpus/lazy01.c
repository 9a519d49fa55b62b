// A third thread does not expect that both others have run before it.
#include "corpus.h"

static lock_t mutex = LOCK_INIT;
static volatile int data;

static void *add_one(void *unused) {
    lock(&mutex);
    data += 1;
    unlock(&mutex);
    return unused;
}

static void *add_two(void *unused) {
    lock(&mutex);
    data += 2;
    unlock(&mutex);
    return unused;
}

static void *check(void *unused) {
    lock(&mutex);
#ifdef FIXED
    assert(data <= 3);
#else
    assert(data < 3);
#endif
    unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t threads[] = {start(add_one, NULL), start(add_two, NULL), start(check, NULL)};
    for (int i = 0; i < 3; i++) join(threads[i]);
    return 0;
}
