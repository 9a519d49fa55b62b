// expect: pass
// points: sync
// build: c
// Threads that talk through streams on pipes: each function of stdio that finds nothing to read, or no room to write, lets
// other threads run.
#include "../threads.h"
#include <assert.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

enum { LINES = 3, MUCH = 90000 };

static FILE *open_end(int *ends, int end) {
    FILE *file = fdopen(ends[end], end == 0 ? "r" : "w");
    assert(file != NULL);
    return file;
}

static FILE *open_pipe(FILE **out) {
    int ends[2];
    must(pipe(ends));
    *out = open_end(ends, 1);
    return open_end(ends, 0);
}

// One question and one answer at a time, by lines.
static FILE *questions, *answers, *ask, *answer;

static void *answering(void *unused) {
    char line[100];
    while (fgets(line, sizeof line, questions) != NULL) {
        fprintf(answer, "%zu %s", strlen(line), line);
        must(fflush(answer));
    }
    assert(feof(questions));
    must(fclose(answer));
    return unused;
}

static void lines(void) {
    questions = open_pipe(&ask);
    answers = open_pipe(&answer);
    pthread_t other = start(answering, NULL);
    for (int i = 0; i < LINES; i++) {
        size_t length;
        int number;
        fprintf(ask, "question %d\n", i);
        must(fflush(ask));
        assert(fscanf(answers, "%zu question %d", &length, &number) == 2 && length == 11 && number == i);
        assert(getc(answers) == '\n');
    }
    must(fclose(ask));
    assert(fgetc(answers) == EOF && feof(answers));
    join(other);
    must(fclose(answers));
    must(fclose(questions));
}

// More than the capacity of the pipe.
static FILE *bulk_in, *bulk_out;

static void *filling(void *unused) {
    static char much[MUCH / 3];
    memset(much, 'x', sizeof much);
    assert(fwrite(much, 1, sizeof much, bulk_out) == sizeof much);
    for (size_t i = 0; i < sizeof much; i++) assert(putc('y', bulk_out) == 'y');
    for (size_t i = 0; i < sizeof much / 100; i++) assert(fprintf(bulk_out, "%100s", "z") == 100);
    must(fclose(bulk_out));
    return unused;
}

static void bulk(void) {
    bulk_in = open_pipe(&bulk_out);
    pthread_t other = start(filling, NULL);
    static char room[MUCH + 1];
    assert(fread(room, 1, MUCH / 3, bulk_in) == MUCH / 3);
    int byte;
    long rest = 0;
    while ((byte = getc_unlocked(bulk_in)) != EOF) rest++;
    assert(rest == MUCH / 3 / 100 * 100 + MUCH / 3 && !ferror(bulk_in));
    join(other);
    must(fclose(bulk_in));
}

// Several threads read from one stream; a waiting thread has locked it.
static FILE *shared_in, *shared_out;
static int taken[LINES];

static void *taking(void *unused) {
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, shared_in) > 0) taken[atoi(line)]++;
    free(line);
    return unused;
}

static void *looking(void *unused) {
    if (ftrylockfile(shared_in) == 0) funlockfile(shared_in);
    flockfile(shared_in);
    assert(!ferror(shared_in));
    funlockfile(shared_in);
    return unused;
}

static void one_stream(void) {
    shared_in = open_pipe(&shared_out);
    setvbuf(shared_in, NULL, _IONBF, 0);
    pthread_t threads[] = {start(taking, NULL), start(taking, NULL), start(looking, NULL)};
    for (int i = 0; i < LINES; i++) {
        fprintf(shared_out, "%d\n", i);
        must(fflush(shared_out));
    }
    must(fclose(shared_out));
    for (int i = 0; i < 3; i++) join(threads[i]);
    for (int i = 0; i < LINES; i++) assert(taken[i] == 1);
    must(fclose(shared_in));
}

// A thread that is cancelled while it reads releases the stream.
static FILE *silent_in, *silent_out;

static void *reading(void *unused) {
    wchar_t line[10];
    if (fgetws(line, 10, silent_in) != NULL) abort();
    return unused;
}

static void cancelled(void) {
    silent_in = open_pipe(&silent_out);
    pthread_t other = start(reading, NULL);
    must(pthread_cancel(other));
    assert(join(other) == PTHREAD_CANCELED);
    assert(fputws(L"words\n", silent_out) >= 0);
    must(fclose(silent_out));
    wint_t first = fgetwc(silent_in);
    assert(first == L'w');
    must(fclose(silent_in));
}

int main(void) {
    lines();
    bulk();
    one_stream();
    cancelled();
    // Streams without a file are unchanged.
    char text[] = "12 words";
    int number;
    FILE *memory = fmemopen(text, sizeof text, "r");
    assert(fscanf(memory, "%d", &number) == 1 && number == 12);
    must(fclose(memory));
    return 0;
}
