// Appending asks the other buffer for its length, and then for that many characters: two calls, each under the lock of
// the other buffer, which another thread empties in between.
#include "corpus.h"
#include <string.h>

struct buffer {
    lock_t lock;
    volatile int length;
    char text[32];
};

static struct buffer shared = {LOCK_INIT, 3, "abc"};
static struct buffer own = {LOCK_INIT, 0, ""};

static int length(struct buffer *buffer) {
    lock(&buffer->lock);
    int length = buffer->length;
    unlock(&buffer->lock);
    return length;
}

static void copy(struct buffer *from, int count, char *to) {
    lock(&from->lock);
    assert(count <= from->length);
    memcpy(to, from->text, (size_t)count);
    unlock(&from->lock);
}

static void append(struct buffer *to, struct buffer *from) {
    lock(&to->lock);
#ifdef FIXED
    lock(&from->lock);
    memcpy(to->text + to->length, from->text, (size_t)from->length);
    to->length += from->length;
    unlock(&from->lock);
#else
    int count = length(from);
    copy(from, count, to->text + to->length);
    to->length += count;
#endif
    unlock(&to->lock);
}

static void *erase(void *unused) {
    lock(&shared.lock);
    shared.length = 0;
    unlock(&shared.lock);
    return unused;
}

int main(void) {
    pthread_t eraser = start(erase, NULL);
#ifdef FIXED
    (void)copy, (void)length;
#endif
    append(&own, &shared);
    join(eraser);
    return 0;
}
