/* A seqlock without its fences: the words are not ordered after the first and before the second number. */
#include "weak.h"

static atomic_uint number, words[2];

static void *write_words(void *unused) {
    store(&number, 1, relaxed);
    RIGHTLY(fence(release), (void)0);
    store(&words[0], 5, relaxed);
    store(&words[1], 5, relaxed);
    store(&number, 2, release);
    return 0;
}

static void *read_words(void *unused) {
    unsigned before = load(&number, acquire);
    if (before % 2)
        return 0;
    unsigned one = load(&words[0], relaxed), two = load(&words[1], relaxed);
    RIGHTLY(fence(acquire), (void)0);
    if (load(&number, relaxed) == before)
        assert(one == two);
    return 0;
}

int main(void) { both(write_words, read_words); }
