// Two deposits, of which one may be lost.
#include <assert.h>
#include <pthread.h>
static int balance = 100;
static void *deposit(void *unused) {
    int seen;
    seen = balance; balance = seen + 10;
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, deposit, 0);
    pthread_create(&b, 0, deposit, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(balance == 120);
}
