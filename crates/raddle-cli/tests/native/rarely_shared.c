/* Both threads touch b, c, d and z only in ever rarer orders. By hand: reading a to d ends the second thread in two
   ways each, and reading z in five, one of which fails: 13 partial orders. */
#include <pthread.h>
#include <stdlib.h>

volatile int a, b, c, d, z;

static void *writes(void *unused)
{
    a = 1;
    b = 1;
    c = 1;
    d = 1;
    z = 1;
    z = 0;
    return unused;
}

static void *reads(void *unused)
{
    if (a == 0 && a == 1 && b == 0 && b == 1 && c == 0 && c == 1 && d == 0 && d == 1 && z == 0 && z == 1)
        abort();
    return unused;
}

int main(void)
{
    pthread_t writer, reader;
    pthread_create(&writer, NULL, writes, NULL);
    pthread_create(&reader, NULL, reads, NULL);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    return 0;
}
