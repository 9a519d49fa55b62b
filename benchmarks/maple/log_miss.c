// A log is closed and opened again when it is full; a thread that writes meanwhile finds it closed, and its change of the database
// is not in the log. After the description of MySQL's bug 791.
#include "../corpus/corpus.h"

enum { WRITERS = 2, ROWS = 2 };

static lock_t table_lock = LOCK_INIT, log_lock = LOCK_INIT;
static volatile bool is_open = true;
static volatile int rows, logged;

static void *insert(void *unused) {
    for (int i = 0; i < ROWS; i++) {
        lock(&table_lock);
        rows++;
        unlock(&table_lock);
#ifdef FIXED
        lock(&log_lock);
        if (is_open) logged++;
        unlock(&log_lock);
#else
        // Reading without the lock is the optimization.
        if (is_open) {
            lock(&log_lock);
            logged++;
            unlock(&log_lock);
        }
#endif
    }
    return unused;
}

static void *rotate(void *unused) {
    lock(&log_lock);
    is_open = false;
    is_open = true;
    unlock(&log_lock);
    return unused;
}

int main(void) {
    pthread_t writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) writers[i] = start(insert, NULL);
    pthread_t rotator = start(rotate, NULL);
    for (int i = 0; i < WRITERS; i++) join(writers[i]);
    join(rotator);
    assert(rows == logged);
    return 0;
}
