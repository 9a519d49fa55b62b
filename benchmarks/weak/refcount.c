/* A reference count: the thread that drops the last reference destroys the object, without acquire. A user that it does not know to
   be done with the object may still use it. */
#include "weak.h"

struct object {
    atomic_int count, is_done[2];
};

static struct object *shared;

static void *use_and_drop(void *number) {
    struct object *object = shared;
    store(&object->is_done[number != 0], 1, relaxed);
    if (sub(&object->count, 1, release) == 1) {
        RIGHTLY(fence(acquire), (void)0);
        assert(load(&object->is_done[0], relaxed) && load(&object->is_done[1], relaxed));
        free(object);
    }
    return 0;
}

int main(void) {
    shared = calloc(1, sizeof *shared);
    atomic_init(&shared->count, 2);
    both(use_and_drop, use_and_drop);
}
