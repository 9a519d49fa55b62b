// Ends with the status that its argument names if the main thread comes first, and with 0 otherwise.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(int argc, char **argv) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    int was_done = done;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    int status = was_done ? 0 : atoi(argv[1]);
    if (argc > 2) _exit(status);
    return status;
}
