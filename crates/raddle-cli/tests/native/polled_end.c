/* pthread_tryjoin_np: a thread that has set its flag need not have ended. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int done;

static void *sets(void *unused)
{
    done = 1;
    return unused;
}

int main(int count, char **words)
{
    pthread_t thread;
    pthread_create(&thread, NULL, sets, NULL);
    int flag = done;
    int left = pthread_tryjoin_np(thread, NULL);
    if (!strcmp(words[count - 1], "busy") && flag && left)
        abort();
    if (!strcmp(words[count - 1], "ended") && !left)
        abort();
    if (left)
        pthread_join(thread, NULL);
    return 0;
}
