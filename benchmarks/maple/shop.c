// Two threads execute commands, one letter each, from their arguments. A counted sale may be lost: its number is read in one
// critical section and written in the next.
#include "../corpus/corpus.h"

static lock_t till_lock = LOCK_INIT, stock_lock = LOCK_INIT;
static volatile int till, sales, stock = 9, refills, open = 1;

static void sell(void) {
    lock(&till_lock);
    till += 5;
    int number = sales;
    unlock(&till_lock);
    lock(&till_lock);
    sales = number + 1;
    unlock(&till_lock);
}

static void take(void) {
    lock(&stock_lock);
    if (stock > 0) stock--;
    unlock(&stock_lock);
}

static void refill(void) {
    lock(&stock_lock);
    stock += 3;
    refills++;
    unlock(&stock_lock);
}

static void count(void) {
    lock(&till_lock);
    int seen = till;
    lock(&stock_lock);
    int left = stock;
    unlock(&stock_lock);
    unlock(&till_lock);
    assert(seen >= 0 && left >= 0);
}

static void close_shop(void) { open = 0; }

static void *work(void *commands) {
    for (const char *next = commands; *next; next++) {
        if (!open && *next == 's') continue;
        if (*next == 's') sell();
        if (*next == 't') take();
        if (*next == 'r') refill();
        if (*next == 'c') count();
        if (*next == 'x') close_shop();
    }
    return NULL;
}

int main(int argc, char **argv) {
    assert(argc == 3);
    pthread_t first = start(work, argv[1]), second = start(work, argv[2]);
    join(first);
    join(second);
    assert(till == 5 * sales);
    return 0;
}
