// The counter is on the stack of main, which begins where the environment ends.
#include <assert.h>
#include <pthread.h>

static void *add(void *counter) {
    int *number = counter;
    *number = *number + 1;
    return NULL;
}

char **main_arguments;

int main(int count, char **arguments) {
    int counter = 0;
    main_arguments = count ? arguments : NULL;
    pthread_t a, b;
    pthread_create(&a, NULL, add, &counter);
    pthread_create(&b, NULL, add, &counter);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(counter == 2);
    return 0;
}
