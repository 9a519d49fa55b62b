// expect: deadlock
// points: sync
// build: c
// What is printed to a pipe stays in its stream, unless the reader has said in time that it waits; then the reader and
// the thread that waits for its answer wait forever.
#include "../threads.h"
#include <unistd.h>

static FILE *question_in, *question_out, *answer_in, *answer_out;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int waits;

static void *reader(void *unused) {
    char line[20];
    must(pthread_mutex_lock(&mutex));
    waits = 1;
    must(pthread_mutex_unlock(&mutex));
    if (fgets(line, sizeof line, question_in) == NULL) abort();
    fputs("answer\n", answer_out);
    must(fflush(answer_out));
    return unused;
}

int main(void) {
    int ends[2];
    char line[20];
    must(pipe(ends));
    question_in = fdopen(ends[0], "r"), question_out = fdopen(ends[1], "w");
    must(pipe(ends));
    answer_in = fdopen(ends[0], "r"), answer_out = fdopen(ends[1], "w");
    pthread_t other = start(reader, NULL);
    must(pthread_mutex_lock(&mutex));
    fputs("question\n", question_out);
    // Bug: it may be about to wait.
    if (waits) must(fflush(question_out));
    must(pthread_mutex_unlock(&mutex));
    if (fgets(line, sizeof line, answer_in) == NULL) abort();
    join(other);
    return 0;
}
