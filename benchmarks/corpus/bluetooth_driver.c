// A worker checks that the driver is not being stopped and only then registers itself. In between the driver is
// stopped.
#include "corpus.h"
#include <stdatomic.h>

static volatile bool stopping, idle, stopped;
static atomic_int pending = 1;

static void leave(void) {
    if (atomic_fetch_sub(&pending, 1) == 1) idle = true;
}

static bool enter(void) {
#ifdef FIXED
    atomic_fetch_add(&pending, 1);
    if (stopping) {
        leave();
        return false;
    }
    return true;
#else
    if (stopping) return false;
    atomic_fetch_add(&pending, 1);
    return true;
#endif
}

static void *work(void *unused) {
    if (enter()) {
        assert(!stopped);
        leave();
    }
    return unused;
}

int main(void) {
    pthread_t worker = start(work, NULL);
    stopping = true;
    leave();
    if (idle) stopped = true;
    join(worker);
    return 0;
}
