/* Peterson's lock without sequential consistency. */
#include "weak.h"

static atomic_int wants[2], turn, inside;

static void *run(void *number) {
    int me = number != 0;
    store(&wants[me], 1, RIGHTLY(seq_cst, release));
    store(&turn, !me, RIGHTLY(seq_cst, release));
    while (load(&wants[!me], RIGHTLY(seq_cst, acquire)) && load(&turn, RIGHTLY(seq_cst, acquire)) == !me)
        ;
    assert(add(&inside, 1, seq_cst) == 0);
    sub(&inside, 1, seq_cst);
    store(&wants[me], 0, release);
    return 0;
}

int main(void) { both(run, run); }
