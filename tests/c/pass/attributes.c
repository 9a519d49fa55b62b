// expect: pass
// points: sync
// build: c
// Threads with a stack of a given size or address, with a name, and their identities.
#include "../threads.h"
#include <assert.h>
#include <string.h>

enum { SIZE = 256 * 1024 };
static char own_stack[SIZE] __attribute__((aligned(4096)));

static void *work(void *on_own_stack) {
    char page[4096], name[16];
    memset(page, 1, sizeof page);
    must(pthread_setname_np(pthread_self(), "worker"));
    must(pthread_getname_np(pthread_self(), name, sizeof name));
    assert(strcmp(name, "worker") == 0 && page[4095] == 1);
    pthread_attr_t attributes;
    void *place;
    size_t size;
    must(pthread_getattr_np(pthread_self(), &attributes));
    must(pthread_attr_getstack(&attributes, &place, &size));
    must(pthread_attr_destroy(&attributes));
    assert(page >= (char *)place && page < (char *)place + size);
    if (on_own_stack != NULL) assert(&page[0] >= &own_stack[0] && &page[0] < &own_stack[SIZE]);
    return (void *)size;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t a, b;
    must(pthread_attr_init(&attributes));
    must(pthread_attr_setstacksize(&attributes, SIZE));
    must(pthread_create(&a, &attributes, work, NULL));
    must(pthread_attr_setstack(&attributes, own_stack, SIZE));
    must(pthread_create(&b, &attributes, work, own_stack));
    assert(!pthread_equal(a, b) && !pthread_equal(a, pthread_self()));
    assert((size_t)join(a) >= SIZE);
    assert((size_t)join(b) <= SIZE);
    must(pthread_attr_destroy(&attributes));
    return 0;
}
