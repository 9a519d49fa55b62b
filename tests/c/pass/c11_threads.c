// expect: pass
// points: shared
// build: c
// The threads of C11: mutexes, conditions, call_once, thread-specific storage, sleeping, results.
#include <assert.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

static mtx_t mutex, nested;
static cnd_t changed;
static once_flag once = ONCE_FLAG_INIT;
static tss_t slot;
static int made, turn, freed;

static void make(void) {
    made++;
}

static void release(void *value) {
    free(value);
    mtx_lock(&mutex);
    freed++;
    mtx_unlock(&mutex);
}

static int work(void *argument) {
    int own = *(int *)argument;
    call_once(&once, make);
    int *value = malloc(sizeof *value);
    *value = own;
    assert(tss_set(slot, value) == thrd_success);
    assert(mtx_lock(&mutex) == thrd_success);
    while (turn != own) cnd_wait(&changed, &mutex);
    turn++;
    cnd_broadcast(&changed);
    mtx_unlock(&mutex);
    assert(mtx_lock(&nested) == thrd_success && mtx_trylock(&nested) == thrd_success);
    mtx_unlock(&nested);
    mtx_unlock(&nested);
    assert(*(int *)tss_get(slot) == own);
    if (own == 1) thrd_exit(own + 10);
    thrd_yield();
    return own + 10;
}

int main(void) {
    assert(mtx_init(&mutex, mtx_timed) == thrd_success);
    assert(mtx_init(&nested, mtx_plain | mtx_recursive) == thrd_success);
    assert(cnd_init(&changed) == thrd_success && tss_create(&slot, release) == thrd_success);
    int numbers[] = {0, 1, 2}, result;
    thrd_t threads[3];
    for (int i = 0; i < 3; i++) assert(thrd_create(&threads[i], work, &numbers[i]) == thrd_success);
    for (int i = 0; i < 3; i++) assert(thrd_join(threads[i], &result) == thrd_success && result == i + 10);
    struct timespec short_time = {0, 1000}, past = {1, 0};
    assert(thrd_sleep(&short_time, NULL) == 0);
    mtx_lock(&mutex);
    while (cnd_timedwait(&changed, &mutex, &past) != thrd_timedout) {
    }
    assert(made == 1 && turn == 3 && freed == 3);
    mtx_unlock(&mutex);
    tss_delete(slot);
    cnd_destroy(&changed);
    mtx_destroy(&nested);
    mtx_destroy(&mutex);
    return 0;
}
