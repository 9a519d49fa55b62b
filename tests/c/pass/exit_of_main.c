// expect: pass
// points: sync
// build: c
// Main ends with pthread_exit; the last thread joins another one, which started it, and ends the program.
#include "../threads.h"
#include <assert.h>

static void *last(void *parent) {
    assert(join(*(pthread_t *)parent) == (void *)7);
    free(parent);
    exit(0);
}

static void *middle(void *unused) {
    pthread_t *self = malloc(sizeof *self);
    *self = pthread_self();
    start(last, self);
    return unused;
}

int main(void) {
    start(middle, (void *)7);
    pthread_exit(NULL);
}
