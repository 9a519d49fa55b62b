#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
static int counter;
static void *add(void *arg) { int seen = counter; sched_yield(); counter = seen + 1; return arg; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("counter is %d\n", counter);
    assert(counter == 2);
    return 0;
}
