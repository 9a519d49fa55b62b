/* Dekker's entry: both flags are set and read without sequential consistency. */
#include "weak.h"

static atomic_int wants[2], inside;

static void *enter(void *number) {
    int me = number != 0;
    store(&wants[me], 1, RIGHTLY(seq_cst, release));
    if (!load(&wants[!me], RIGHTLY(seq_cst, acquire))) {
        assert(add(&inside, 1, seq_cst) == 0);
        sub(&inside, 1, seq_cst);
        store(&wants[me], 0, release);
    }
    return 0;
}

int main(void) { both(enter, enter); }
