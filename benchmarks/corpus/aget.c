// A download in parts, each thread with its own offset, and a total. When the user interrupts it, the saved offsets and
// total are inconsistent.
#include "corpus.h"

enum { PARTS = 2, BLOCKS = 3 };

static lock_t mutex = LOCK_INIT;
static volatile int offsets[PARTS], total;

static void *download(void *argument) {
    int part = (int)(long)argument;
    for (int i = 0; i < BLOCKS; i++) {
        lock(&mutex);
        offsets[part]++;
        total++;
        unlock(&mutex);
    }
    return NULL;
}

static void save(void) {
    int saved = 0;
    lock(&mutex);
    for (int i = 0; i < PARTS; i++) saved += offsets[i];
#ifndef FIXED
    unlock(&mutex);
    lock(&mutex);
#endif
    int all = total;
    unlock(&mutex);
    assert(saved == all);
}

int main(void) {
    pthread_t threads[PARTS];
    for (int i = 0; i < PARTS; i++) threads[i] = start(download, (void *)(long)i);
    save();
    for (int i = 0; i < PARTS; i++) join(threads[i]);
    return 0;
}
