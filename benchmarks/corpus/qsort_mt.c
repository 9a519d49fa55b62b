// A sort that hands parts of the array to idle threads of a pool. The idle flag is read without the lock, so two threads
// may hand work to the same one, and a part stays unsorted.
#include "corpus.h"

enum { WORKERS = 2, SIZE = 6 };

struct worker {
    lock_t lock;
    pthread_cond_t wake;
    volatile bool idle;
    volatile int from, to;
};

static struct worker pool[WORKERS];
static volatile int array[SIZE] = {3, 5, 1, 4, 0, 2};
static lock_t mutex = LOCK_INIT;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static volatile int parts = 1;
static volatile bool over;

static void sort(int from, int to);

static void end_part(void) {
    lock(&mutex);
    if (--parts == 0) pthread_cond_signal(&finished);
    unlock(&mutex);
}

static bool hand_over(int from, int to) {
    for (int i = 0; i < WORKERS; i++) {
        struct worker *worker = &pool[i];
#ifndef FIXED
        if (!worker->idle) continue;
#endif
        lock(&worker->lock);
#ifdef FIXED
        if (!worker->idle) {
            unlock(&worker->lock);
            continue;
        }
#endif
        worker->idle = false;
        worker->from = from;
        worker->to = to;
        lock(&mutex);
        parts++;
        unlock(&mutex);
        pthread_cond_signal(&worker->wake);
        unlock(&worker->lock);
        return true;
    }
    return false;
}

static void *work(void *argument) {
    struct worker *me = argument;
    for (;;) {
        lock(&me->lock);
        while (me->idle && !over) pthread_cond_wait(&me->wake, &me->lock);
        bool go_on = !me->idle;
        int from = me->from, to = me->to;
        unlock(&me->lock);
        if (!go_on) return NULL;
        sort(from, to);
        lock(&me->lock);
        me->idle = true;
        unlock(&me->lock);
        end_part();
    }
}

static void sort(int from, int to) {
    while (to - from > 1) {
        int pivot = array[to - 1], middle = from;
        for (int i = from; i < to - 1; i++) {
            if (array[i] < pivot) {
                int smaller = array[i];
                array[i] = array[middle];
                array[middle++] = smaller;
            }
        }
        array[to - 1] = array[middle];
        array[middle] = pivot;
        if (!hand_over(from, middle)) sort(from, middle);
        from = middle + 1;
    }
}

int main(void) {
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        must(pthread_mutex_init(&pool[i].lock, NULL));
        must(pthread_cond_init(&pool[i].wake, NULL));
        pool[i].idle = true;
        threads[i] = start(work, &pool[i]);
    }
    sort(0, SIZE);
    end_part();
    lock(&mutex);
    while (parts > 0) pthread_cond_wait(&finished, &mutex);
    unlock(&mutex);
    for (int i = 0; i + 1 < SIZE; i++) assert(array[i] < array[i + 1]);
    for (int i = 0; i < WORKERS; i++) {
        lock(&pool[i].lock);
        over = true;
        pthread_cond_signal(&pool[i].wake);
        unlock(&pool[i].lock);
    }
    for (int i = 0; i < WORKERS; i++) join(threads[i]);
    return 0;
}
