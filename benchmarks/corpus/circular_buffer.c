// A sender and a receiver take turns through two flags. A round out of turn still counts, so that the receiver expects
// another number than was sent.
#include "corpus.h"

enum { ROUNDS = 7, SIZE = 10 };

static lock_t mutex = LOCK_INIT;
static volatile int buffer[SIZE], first, next;
static volatile bool may_send = true, may_receive;

static void *send(void *unused) {
    for (int i = 0; i < ROUNDS;) {
        lock(&mutex);
        bool turn = may_send;
        if (turn) {
            buffer[next] = i;
            next = (next + 1) % SIZE;
            may_send = false;
            may_receive = true;
        }
        unlock(&mutex);
#ifdef FIXED
        i += turn;
#else
        i++;
#endif
    }
    return unused;
}

static void *receive(void *unused) {
    for (int i = 0; i < ROUNDS;) {
        lock(&mutex);
        bool turn = may_receive;
        if (turn) {
            assert(buffer[first] == i);
            first = (first + 1) % SIZE;
            may_receive = false;
            may_send = true;
        }
        unlock(&mutex);
#ifdef FIXED
        i += turn;
#else
        i++;
#endif
    }
    return unused;
}

int main(void) {
    pthread_t sender = start(send, NULL), receiver = start(receive, NULL);
    join(sender);
    join(receiver);
    return 0;
}
