// A lost update without any synchronization, among accesses to private memory.
#include <assert.h>
#include <pthread.h>

static int counter;
static volatile int own[2][16];

static void *add(void *arg) {
    volatile int *mine = own[arg != 0];
    for (int i = 0; i < 20; i++) mine[0] = mine[0] + 1;
    counter++;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, &counter);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(counter == 2);
    return 0;
}
