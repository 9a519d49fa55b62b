// A producer fills a queue once a flag allows it, and records the items; the consumer compares. A round in which the
// queue is empty still counts as one item taken.
#include "corpus.h"

enum { ROUNDS = 20 };

static lock_t mutex = LOCK_INIT;
static volatile int items[ROUNDS], stored[ROUNDS], first, last;

static void *produce(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        lock(&mutex);
        items[last] = i * i;
        stored[i] = items[last];
        last++;
        unlock(&mutex);
    }
    return unused;
}

static void *consume(void *unused) {
    for (int i = 0; i < ROUNDS;) {
        lock(&mutex);
        bool some = first < last;
        if (some) assert(items[first++] == stored[i]);
        unlock(&mutex);
#ifdef FIXED
        i += some;
#else
        i++;
#endif
    }
    return unused;
}

int main(void) {
    pthread_t producer = start(produce, NULL), consumer = start(consume, NULL);
    join(producer);
    join(consumer);
    return 0;
}
