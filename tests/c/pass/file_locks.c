// expect: pass
// points: sync
// build: c
// Threads that print to one file, some of them more than once under its lock, and lines that stay together.
#include "../threads.h"
#include <assert.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;

static void *in_parts(void *word) {
    flockfile(file);
    flockfile(file);
    fputs(word, file);
    // Other threads run here.
    must(pthread_mutex_lock(&mutex));
    must(pthread_mutex_unlock(&mutex));
    funlockfile(file);
    must(pthread_mutex_lock(&mutex));
    must(pthread_mutex_unlock(&mutex));
    fprintf(file, "%.1f\n", 0.5);
    funlockfile(file);
    return NULL;
}

static void *at_once(void *unused) {
    must(pthread_mutex_lock(&mutex));
    must(pthread_mutex_unlock(&mutex));
    fprintf(file, "%.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f\n", 1., 2., 3., 4., 5., 6., 7., 8., 9.);
    printf("%s", unused == NULL ? "" : "?"); // It takes the lock and prints nothing.
    return unused;
}

static void *if_free(void *unused) {
    if (ftrylockfile(file) != 0) return unused;
    must(pthread_mutex_lock(&mutex));
    must(pthread_mutex_unlock(&mutex));
    fputs("free\n", file);
    funlockfile(file);
    return unused;
}

int main(void) {
    char text[1000] = "", *line = text;
    file = fmemopen(text, sizeof text, "w");
    assert(file != NULL);
    flockfile(stdout);
    pthread_t threads[] = {start(in_parts, "first"), start(in_parts, "second"), start(at_once, NULL), start(if_free, NULL)};
    must(pthread_mutex_lock(&mutex));
    must(pthread_mutex_unlock(&mutex));
    funlockfile(stdout);
    for (int i = 0; i < 4; i++) join(threads[i]);
    fclose(file);
    int lines = 0;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1, lines++) {
        *end = 0;
        assert(!strcmp(line, "first0.5") || !strcmp(line, "second0.5") || !strcmp(line, "free") ||
               !strcmp(line, "1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0 9.0"));
    }
    assert(lines == 3 || lines == 4);
    return 0;
}
