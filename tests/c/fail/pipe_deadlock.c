// expect: deadlock
// points: sync
// build: c
// Two threads ask each other through pipes, and both may end up waiting for an answer.
#include "../threads.h"
#include <unistd.h>

static int to_left[2], to_right[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int asked;

static void talk(int out, int in) {
    char byte = 'a';
    pthread_mutex_lock(&mutex);
    int first = asked++;
    pthread_mutex_unlock(&mutex);
    if (first == 0 && write(out, &byte, 1) != 1) {
        abort();
    }
    /* Bug if the left one came first: there is no second write. */
    if ((first == 1 || out == to_right[1]) && read(in, &byte, 1) != 1) {
        abort();
    }
}

static void *left(void *unused) {
    talk(to_right[1], to_left[0]);
    return unused;
}

int main(void) {
    must(pipe(to_left));
    must(pipe(to_right));
    pthread_t other = start(left, NULL);
    talk(to_left[1], to_right[0]);
    join(other);
    return 0;
}
