// Two groups of threads share a resource: the first of a group takes it, the last releases it, and each group counts
// its members under the same mutex. A thread that waits for the resource holds the mutex that others need to release it.
#include "corpus.h"

static lock_t counting = LOCK_INIT, resource = LOCK_INIT;
static volatile int first_group, second_group;

static void enter(volatile int *group) {
#ifdef FIXED
    lock(&resource);
#endif
    lock(&counting);
    ++*group;
#ifndef FIXED
    if (*group == 1) lock(&resource);
#endif
    unlock(&counting);
}

static void leave(volatile int *group) {
    lock(&counting);
    --*group;
#ifndef FIXED
    if (*group == 0) unlock(&resource);
#endif
    unlock(&counting);
#ifdef FIXED
    unlock(&resource);
#endif
}

static void *member(void *group) {
    enter(group);
    leave(group);
    return NULL;
}

static void *bystander(void *unused) { return unused; }

int main(void) {
    pthread_t threads[] = {
        start(member, (void *)&first_group),
        start(member, (void *)&second_group),
        start(bystander, NULL),
        start(bystander, NULL),
    };
    for (int i = 0; i < 4; i++) join(threads[i]);
    return 0;
}
