/* Double-checked initialization: the flag is relaxed. */
#include "weak.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int ready, value;

static void *use(void *unused) {
    if (!load(&ready, RIGHTLY(acquire, relaxed))) {
        pthread_mutex_lock(&lock);
        if (!load(&ready, relaxed)) {
            store(&value, 9, relaxed);
            store(&ready, 1, RIGHTLY(release, relaxed));
        }
        pthread_mutex_unlock(&lock);
    }
    assert(load(&value, relaxed) == 9);
    return 0;
}

int main(void) { both(use, use); }
