// Creates threads when the system has no room for one, or, with LIMIT_PROCESSES in the environment, not even for a run.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void *nothing(void *unused) { return unused; }

// The limit does not apply to root.
static void lower(void) {
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || (getuid() == 0 && setuid(54321) != 0)) abort();
}

__attribute__((constructor)) static void before(void) {
    if (getenv("LIMIT_PROCESSES")) lower();
}

int main(void) {
    pthread_t thread;
    lower();
    for (int i = 0; i < 8; i++) assert(pthread_create(&thread, NULL, nothing, NULL) == 0);
    return 0;
}
