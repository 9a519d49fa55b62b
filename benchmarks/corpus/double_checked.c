// The pointer to an object is published before the object is filled, and read without the lock.
#include "corpus.h"

struct settings {
    volatile int width, height;
};

static struct settings only;
static struct settings *volatile settings;
static lock_t mutex = LOCK_INIT;

static struct settings *get(void) {
    if (settings == NULL) {
        lock(&mutex);
        if (settings == NULL) {
#ifdef FIXED
            only.width = 3;
            only.height = 4;
            settings = &only;
#else
            settings = &only;
            settings->width = 3;
            settings->height = 4;
#endif
        }
        unlock(&mutex);
    }
    return settings;
}

static void *use(void *unused) {
    struct settings *mine = get();
    assert(mine->width * mine->height == 12);
    return unused;
}

int main(void) {
    pthread_t first = start(use, NULL), second = start(use, NULL);
    join(first);
    join(second);
    return 0;
}
