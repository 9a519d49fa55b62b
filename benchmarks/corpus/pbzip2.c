// The main thread frees a queue and its mutex as soon as all blocks are done; the consumer that counted the last one still
// has to unlock that mutex.
#include "corpus.h"
#include <sched.h>

enum { BLOCKS = 3, CONSUMERS = 2 };

struct queue {
    lock_t lock;
    int left;
};

static struct queue *volatile queue;
static volatile int done;
static lock_t counting = LOCK_INIT;

static void *consume(void *unused) {
    for (bool some = true; some;) {
        lock(&queue->lock);
        some = queue->left > 0;
        if (some) {
            queue->left--;
            lock(&counting);
            done++;
            unlock(&counting);
        }
        unlock(&queue->lock);
    }
    return unused;
}

int main(void) {
    pthread_t consumers[CONSUMERS];
    queue = malloc(sizeof *queue);
    must(pthread_mutex_init(&queue->lock, NULL));
    queue->left = BLOCKS;
    for (int i = 0; i < CONSUMERS; i++) consumers[i] = start(consume, NULL);
    for (bool all = false; !all; sched_yield()) {
        lock(&counting);
        all = done == BLOCKS;
        unlock(&counting);
    }
#ifdef FIXED
    for (int i = 0; i < CONSUMERS; i++) join(consumers[i]);
#endif
    must(pthread_mutex_destroy(&queue->lock));
    free(queue);
#ifndef FIXED
    for (int i = 0; i < CONSUMERS; i++) join(consumers[i]);
#endif
    return 0;
}
