/* Message passing: the flag is stored without release. */
#include "weak.h"

static atomic_int message, flag;

static void *send(void *unused) {
    store(&message, 7, relaxed);
    store(&flag, 1, RIGHTLY(release, relaxed));
    return 0;
}

static void *receive(void *unused) {
    if (load(&flag, acquire))
        assert(load(&message, relaxed) == 7);
    return 0;
}

int main(void) { both(send, receive); }
