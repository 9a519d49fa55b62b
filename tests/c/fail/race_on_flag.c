// expect: data-race
// points: shared
// build: c
// options: --races fail
// The answer is published with a plain flag. No assertion fails as long as the hardware keeps the order.
#include "../threads.h"

static int answer;
static int ready;

static void *publish(void *unused) {
    answer = 42;
    ready = 1;
    return unused;
}

int main(void) {
    pthread_t a = start(publish, NULL);
    int seen = ready ? answer : 42;
    join(a);
    return seen == 42 ? 0 : 1;
}
