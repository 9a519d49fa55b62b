// A thread processes the messages of a log while another one sweeps it: a message that was counted is gone when it is
// read. After the description of LogProc&Sweep in the literature on atomicity.
#include "../corpus/corpus.h"

enum { MESSAGES = 3 };

static lock_t mutex = LOCK_INIT;
static const char *volatile log_of[MESSAGES];
static volatile int count;

static void *process(void *unused) {
    for (int i = 0; i < MESSAGES; i++) {
#ifdef FIXED
        lock(&mutex);
#endif
        if (i < count) {
            const char *message = log_of[i];
            assert(message != NULL);
        }
#ifdef FIXED
        unlock(&mutex);
#endif
    }
    return unused;
}

static void *sweep(void *unused) {
    lock(&mutex);
    for (int i = 0; i < MESSAGES; i++) log_of[i] = NULL;
    count = 0;
    unlock(&mutex);
    return unused;
}

int main(void) {
    for (int i = 0; i < MESSAGES; i++) log_of[i] = "message";
    count = MESSAGES;
    pthread_t processor = start(process, NULL), sweeper = start(sweep, NULL);
    join(processor);
    join(sweeper);
    return 0;
}
