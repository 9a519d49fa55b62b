/* A lost update, if the sleep of main ends before the one between the two steps of the first thread. */
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static int sum;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int get(void) {
    pthread_mutex_lock(&mutex);
    int value = sum;
    pthread_mutex_unlock(&mutex);
    return value;
}

static void *slow(void *unused) {
    int value = get();
    usleep(100);
    pthread_mutex_lock(&mutex);
    sum = value + 1;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *quick(void *unused) {
    for (int turn = 0; turn < 5; turn++) {
        get();
    }
    pthread_mutex_lock(&mutex);
    sum++;
    pthread_mutex_unlock(&mutex);
    usleep(1000);
    get();
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, slow, NULL);
    usleep(500);
    pthread_create(&second, NULL, quick, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert(sum == 2);
}
