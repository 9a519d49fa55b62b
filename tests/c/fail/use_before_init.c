// expect: assertion
// points: shared
// build: c
// The thread is started before its data is initialized.
#include "../threads.h"
#include <assert.h>
#include <stdatomic.h>

static int settings = 7;
static _Atomic(int *) configuration;

static void *work(void *unused) {
    int *mine = atomic_load(&configuration);
    assert(mine != NULL);
    return unused;
}

int main(void) {
    pthread_t a = start(work, NULL);
    atomic_store(&configuration, &settings);
    join(a);
    return 0;
}
