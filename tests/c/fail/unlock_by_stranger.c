// expect: misuse
// points: sync
// build: c
// A thread that did not get the lock unlocks it nevertheless.
#include "../threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int work;

static void *patient(void *unused) {
    pthread_mutex_lock(&mutex);
    work++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *hasty(void *unused) {
    if (pthread_mutex_trylock(&mutex) == 0) work++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t a = start(patient, NULL), b = start(hasty, NULL);
    join(a);
    join(b);
    return 0;
}
