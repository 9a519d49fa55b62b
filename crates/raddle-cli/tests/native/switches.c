// Fails if it has often yielded the processor, which nothing in it does. With an argument it never ends.
#include <assert.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(int argc, char **argv) {
    struct rusage before, after;
    while (argc > 1) pause();
    (void)argv;
    getrusage(RUSAGE_SELF, &before);
    for (int turn = 0; turn < 1000; turn++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    getrusage(RUSAGE_SELF, &after);
    assert(after.ru_nvcsw - before.ru_nvcsw < 30);
    return 0;
}
