/* Two words under a lock for readers and writers with a relaxed unlock of the writer. */
#include "weak.h"

static atomic_int state, words[2]; /* state: the number of readers, or -1 */

static void *write_words(void *unused) {
    int expected = 0;
    while (!exchange_if(&state, &expected, -1, acquire, relaxed))
        expected = 0;
    store(&words[0], 5, relaxed);
    store(&words[1], 5, relaxed);
    store(&state, 0, RIGHTLY(release, relaxed));
    return 0;
}

static void *read_words(void *unused) {
    int readers = load(&state, relaxed);
    while (readers < 0 || !exchange_if(&state, &readers, readers + 1, acquire, relaxed))
        readers = readers < 0 ? load(&state, relaxed) : readers;
    assert(load(&words[0], relaxed) == load(&words[1], relaxed));
    sub(&state, 1, release);
    return 0;
}

int main(void) { both(write_words, read_words); }
