/* A thread that calls pthread_once after the initialization could have called it before. */
#include <pthread.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static int runner;

static void by_one(void)
{
    runner = 1;
}

static void by_two(void)
{
    runner = 2;
}

static void *one(void *unused)
{
    pthread_once(&once, by_one);
    return unused;
}

static void *two(void *unused)
{
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
    pthread_once(&once, by_two);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, two, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    if (runner == 2)
        abort();
    return 0;
}
