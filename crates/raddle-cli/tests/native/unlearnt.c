/* A thread that starts its work long before the first thread signals it waits forever, without a step. If it starts only a
   little before, it reads the wrong value only for a moment. */
#include <pthread.h>
#include <stdlib.h>

static volatile int said, wrong;

static void *work(void *unused) {
    int round = 0;
    for (; !said; round++)
        if (round == 40)
            for (;;)
                ;
    if (round > 0 && wrong)
        abort();
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    said = 1;
    wrong = 1;
    wrong = 0;
    pthread_join(thread, 0);
    return 0;
}
