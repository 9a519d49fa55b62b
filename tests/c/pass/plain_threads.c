// expect: pass
// points: sync
// build: c
// Threads with no attributes, of which the first few are there before the run: what the kernel and the C library tell of them,
// and that nothing of a thread is left for the next one on the same stack.
#include "../threads.h"
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <time.h>

enum { MANY = 6 };
static pthread_key_t key;
static _Thread_local int own = 1;

static void ask_about(pthread_t thread) {
    cpu_set_t set;
    struct sched_param parameters;
    int policy;
    clockid_t clock;
    struct timespec time;
    must(pthread_getaffinity_np(thread, sizeof set, &set));
    must(pthread_setaffinity_np(thread, sizeof set, &set));
    must(pthread_getschedparam(thread, &policy, &parameters));
    must(pthread_setschedparam(thread, policy, &parameters));
    must(pthread_setschedprio(thread, parameters.sched_priority));
    must(pthread_getcpuclockid(thread, &clock));
    assert(clock_gettime(clock, &time) == 0);
}

static void *work(void *kind) {
    pthread_attr_t attributes;
    void *place;
    size_t size;
    assert(own == 1 && errno == 0 && pthread_getspecific(key) == NULL && !__libc_single_threaded);
    own = errno = 2;
    must(pthread_getattr_np(pthread_self(), &attributes));
    must(pthread_attr_getstack(&attributes, &place, &size));
    must(pthread_attr_destroy(&attributes));
    assert((char *)&size >= (char *)place && (char *)&size < (char *)place + size);
    ask_about(pthread_self());
    if (kind == (void *)1) must(pthread_setspecific(key, place));
    if (kind == (void *)2) free(malloc(100));
    if (kind == (void *)3) pthread_exit(kind);
    return kind;
}

static void *do_nothing(void *unused) {
    return unused;
}

static void *set_key(void *value) {
    assert(pthread_getspecific(key) == NULL);
    must(pthread_setspecific(key, value));
    return value;
}

int main(void) {
    pthread_t threads[MANY];
    must(pthread_key_create(&key, NULL));
    assert(__libc_single_threaded);
    // One after the other, each on the stack of the previous one.
    assert(join(start(do_nothing, &key)) == &key);
    for (size_t i = 0; i < 3; i++) assert(join(start(set_key, &key)) == &key);
    for (size_t i = 0; i < MANY; i++) assert(join(start(work, (void *)(i % 4))) == (void *)(i % 4));
    // More at once than exist in advance.
    for (size_t i = 0; i < MANY; i++) threads[i] = start(work, (void *)(i % 4));
    for (size_t i = 0; i < MANY; i++) assert(!pthread_equal(threads[i], threads[(i + 1) % MANY]));
    for (size_t i = 0; i < MANY; i++) assert(join(threads[i]) == (void *)(i % 4));
    return 0;
}
