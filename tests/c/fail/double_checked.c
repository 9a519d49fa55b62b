// expect: assertion
// points: shared
// build: c
// The object is published before it is complete; a reader without the lock may find it incomplete.
#include "../threads.h"
#include <assert.h>
#include <stdatomic.h>

struct object {
    atomic_int value;
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct object the_object;
static struct object *_Atomic instance;

static struct object *get(void) {
    if (atomic_load(&instance) == NULL) {
        pthread_mutex_lock(&mutex);
        if (atomic_load(&instance) == NULL) {
            atomic_store(&instance, &the_object);
            atomic_store(&the_object.value, 42);
        }
        pthread_mutex_unlock(&mutex);
    }
    return atomic_load(&instance);
}

static void *use(void *unused) {
    assert(atomic_load(&get()->value) == 42);
    return unused;
}

int main(void) {
    pthread_t a = start(use, NULL), b = start(use, NULL);
    join(a);
    join(b);
    return 0;
}
