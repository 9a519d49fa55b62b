// A checker counts a deposit as a withdrawal, which shows only if both have been made. Threads are not joined: the program
// may end before that.
#include "corpus.h"

enum { FIRST = 1, PAID_IN = 2, TAKEN_OUT = 4 };

static lock_t mutex = LOCK_INIT;
static volatile int balance = FIRST;
static volatile bool paid_in, taken_out;

static void *deposit(void *unused) {
    lock(&mutex);
    balance += PAID_IN;
    paid_in = true;
    unlock(&mutex);
    return unused;
}

static void *withdraw(void *unused) {
    lock(&mutex);
    balance -= TAKEN_OUT;
    taken_out = true;
    unlock(&mutex);
    return unused;
}

static void *check(void *unused) {
    lock(&mutex);
    if (paid_in && taken_out) {
#ifdef FIXED
        assert(balance == FIRST + PAID_IN - TAKEN_OUT);
#else
        assert(balance == FIRST - PAID_IN - TAKEN_OUT);
#endif
    }
    unlock(&mutex);
    return unused;
}

int main(void) {
    start(check, NULL);
    start(deposit, NULL);
    start(withdraw, NULL);
    return 0;
}
