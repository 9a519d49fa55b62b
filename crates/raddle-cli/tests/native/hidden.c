#include <assert.h>
#include <pthread.h>
#include <sched.h>
static int counter;
static void *add(void *unused) {
    sched_yield();
    int seen = counter;
    sched_yield();
    counter = seen + 1;
    sched_yield();
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(counter == 2);
    return 0;
}
