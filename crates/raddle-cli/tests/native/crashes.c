// Dies in the way that its argument names, if the second thread comes before the first.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *shared;
static int value;
static const char *way;

static void *prepare(void *arg) {
    pthread_mutex_lock(&lock);
    shared = &value;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *use(void *arg) {
    pthread_mutex_lock(&lock);
    int *seen = shared;
    pthread_mutex_unlock(&lock);
    if (seen) return arg;
    if (!strcmp(way, "segv")) *(volatile int *)16 = 1;
    if (!strcmp(way, "abort")) abort();
    if (!strcmp(way, "unlock")) pthread_mutex_unlock(&lock);
    if (!strcmp(way, "again")) {
        pthread_mutex_lock(&lock);
        pthread_mutex_lock(&lock);
    }
    if (!strcmp(way, "spin"))
        for (;;) pthread_mutex_unlock((pthread_mutex_lock(&lock), &lock));
    return arg;
}

int main(int argc, char **argv) {
    pthread_t a, b;
    way = argc > 1 ? argv[1] : "";
    pthread_create(&a, NULL, prepare, NULL);
    pthread_create(&b, NULL, use, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
