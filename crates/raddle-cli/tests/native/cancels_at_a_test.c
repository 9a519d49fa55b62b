/* A thread without other operations, which is or is not cancelled where it tests. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *tests(void *unused)
{
    pthread_testcancel();
    return unused;
}

int main(int count, char **words)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, tests, NULL);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    if ((result == PTHREAD_CANCELED) == !strcmp(words[count - 1], "cancelled"))
        abort();
    return 0;
}
