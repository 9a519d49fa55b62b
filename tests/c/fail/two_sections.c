// expect: assertion
// points: sync
// build: c
// The balance is checked in one critical section and changed in the next. Every access is locked.
#include "../threads.h"
#include <assert.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static void *withdraw(void *unused) {
    pthread_mutex_lock(&mutex);
    int enough = balance >= 80;
    pthread_mutex_unlock(&mutex);
    if (enough) {
        pthread_mutex_lock(&mutex);
        balance -= 80;
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(void) {
    pthread_t a = start(withdraw, NULL), b = start(withdraw, NULL);
    join(a);
    join(b);
    assert(balance >= 0);
    return 0;
}
