// expect: use-after-free
// points: shared
// build: c
// Main frees the table and returns, while a detached thread may still read it.
#include "../threads.h"

static volatile int sum;

static void *read_table(void *table) {
    for (int i = 0; i < 4; i++) sum += ((int *)table)[i];
    return NULL;
}

int main(void) {
    int *table = calloc(4, sizeof *table);
    must(pthread_detach(start(read_table, table)));
    free(table);
    return 0;
}
