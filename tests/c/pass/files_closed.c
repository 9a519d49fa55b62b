// expect: pass
// points: sync
// build: c
// A file that is closed while its thread has it locked, whose memory becomes another file; and a flush of all files while one is
// locked.
#include "../threads.h"
#include <assert.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *close_locked(void *unused) {
    for (int i = 0; i < 3; i++) {
        char text[10] = "";
        FILE *file = fmemopen(text, sizeof text, "w");
        assert(file != NULL);
        flockfile(file);
        flockfile(file);
        must(pthread_mutex_lock(&mutex));
        must(pthread_mutex_unlock(&mutex));
        fputs("closed", file);
        fclose(file);
    }
    return unused;
}

static void *flush_all(void *unused) {
    fflush(NULL);
    return unused;
}

int main(void) {
    pthread_t threads[] = {start(close_locked, NULL), start(close_locked, NULL), start(flush_all, NULL)};
    flockfile(stderr);
    must(pthread_mutex_lock(&mutex));
    must(pthread_mutex_unlock(&mutex));
    funlockfile(stderr);
    for (int i = 0; i < 3; i++) join(threads[i]);
    return 0;
}
