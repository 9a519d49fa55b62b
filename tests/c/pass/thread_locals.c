// expect: pass
// points: shared
// build: c
// Thread-local variables, and keys whose destructors run at the end of each thread, again if they set a value again.
#include "../threads.h"
#include <assert.h>
#include <stdatomic.h>

static _Thread_local int own = 5;
static pthread_key_t key, stubborn;
static atomic_int destroyed, again;

static void destroy(void *value) {
    assert(*(int *)value == own);
    free(value);
    atomic_fetch_add(&destroyed, 1);
}

static void set_again(void *value) {
    if (atomic_fetch_add(&again, 1) == 0) must(pthread_setspecific(stubborn, value));
}

static void *work(void *number) {
    assert(own == 5 && pthread_getspecific(key) == NULL);
    own += (int)(size_t)number;
    int *value = malloc(sizeof *value);
    *value = own;
    must(pthread_setspecific(key, value));
    assert(pthread_getspecific(key) == value && own == 5 + (int)(size_t)number);
    if (number == (void *)1) {
        must(pthread_setspecific(stubborn, &key));
        pthread_exit(number);
    }
    return number;
}

int main(void) {
    must(pthread_key_create(&key, destroy));
    must(pthread_key_create(&stubborn, set_again));
    pthread_t a = start(work, (void *)1), b = start(work, (void *)2);
    assert(join(a) == (void *)1 && join(b) == (void *)2);
    assert(own == 5 && atomic_load(&destroyed) == 2 && atomic_load(&again) == 2);
    must(pthread_key_delete(key));
    must(pthread_key_delete(stubborn));
    return 0;
}
