// In one order of its threads an assertion fails, in the other it waits forever in an uncontrolled system call.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int first;

static void *come(void *number) {
    pthread_mutex_lock(&mutex);
    if (!first) first = *(int *)number;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void) {
    int one = 1, two = 2;
    pthread_t a, b;
    pthread_create(&a, NULL, come, &one);
    pthread_create(&b, NULL, come, &two);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    if (first == 2) __asm__ volatile("syscall" : : "a"(34) : "rcx", "r11", "memory");
    assert(first == 2);
    return 0;
}
