// expect: use-after-free
// points: shared
// build: c
// The reader takes the pointer under the lock and dereferences it without.
#include "../threads.h"

struct record {
    int value;
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct record *current;
static volatile int sum;

static void *read_it(void *unused) {
    pthread_mutex_lock(&mutex);
    struct record *mine = current;
    pthread_mutex_unlock(&mutex);
    if (mine) sum += mine->value;
    return unused;
}

static void *drop_it(void *unused) {
    pthread_mutex_lock(&mutex);
    struct record *old = current;
    current = NULL;
    pthread_mutex_unlock(&mutex);
    free(old);
    return unused;
}

int main(void) {
    current = malloc(sizeof *current);
    current->value = 1;
    pthread_t a = start(read_it, NULL), b = start(drop_it, NULL);
    join(a);
    join(b);
    return 0;
}
