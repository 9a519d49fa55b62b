/* Checks of data structures without assertions: `raddle run` draws scenarios of calls and asks whether an order of the calls
 * explains their results. `raddle cc` and `raddle c++` find this header. See docs/guide/linearizability.md.
 *
 *     static void make(void);                      // makes an empty structure
 *     static long push(long value), pop(long);     // operations with their results
 *
 *     int main(int argc, char **argv) {
 *         raddle_structure(make);
 *         raddle_operation_with("push", push, 1, 3);
 *         raddle_operation("pop", pop);
 *         return raddle_linearizable(argc, argv);
 *     }
 */
#ifndef RADDLE_LINEARIZABLE_H
#define RADDLE_LINEARIZABLE_H

#undef NDEBUG
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
/* Steps of the scheduler: a call begins, and it ends. Without Raddle they do nothing. */
void raddle_call(const void *objects, unsigned thread, unsigned threads);
void raddle_return(const void *objects, unsigned thread, unsigned threads);
#ifdef __cplusplus
}
#endif

/* The history is kept by code without hooks. */
#define RADDLE_UNSEEN static __attribute__((no_sanitize("thread"), no_instrument_function, unused, noinline))

enum { RADDLE_MOST_OPERATIONS = 32, RADDLE_MOST_CALLS = 24, RADDLE_MOST_THREADS = 8, RADDLE_MOST_STATE = 4096 };

struct raddle_operation_ {
    const char *name, *group;
    long (*function)(long argument);
    long low, high;
    int has_argument;
};

struct raddle_call_ {
    struct raddle_operation_ *operation;
    long argument, result;
    /* The thread: 0 before and after the others. */
    unsigned thread, begun, ended;
};

static struct raddle_ {
    struct raddle_operation_ operations[RADDLE_MOST_OPERATIONS];
    struct raddle_call_ calls[RADDLE_MOST_CALLS];
    unsigned operation_count, call_count, thread_count, clock;
    unsigned threads, size, first, last;
    void (*make)(void);
    long (*model)(void *state, const char *operation, long argument);
    size_t model_size;
    const char *group;
    /* Where the calls of each thread begin and end. */
    unsigned from[RADDLE_MOST_THREADS + 2], to[RADDLE_MOST_THREADS + 2];
} raddle_;
static char raddle_objects_[RADDLE_MOST_THREADS];
/* `raddle run` recognizes the program by this. */
static const char raddle_mark_[] __attribute__((used)) = "raddle linearizable 1";

RADDLE_UNSEEN void raddle_quit_(const char *what, const char *which) {
    fprintf(stderr, "error: %s%s\n", what, which);
    exit(2);
}

/* Sets the function that makes an empty structure, which replaces an earlier one. */
RADDLE_UNSEEN void raddle_structure(void (*make)(void)) { raddle_.make = make; }

/* Sets the largest numbers of threads and of calls of each. */
RADDLE_UNSEEN void raddle_threads(unsigned threads, unsigned calls) {
    if (threads > RADDLE_MOST_THREADS) raddle_quit_("raddle_threads: ", "at most 8 threads");
    raddle_.threads = threads, raddle_.size = calls;
}

/* Sets the largest numbers of calls before the threads and after them. */
RADDLE_UNSEEN void raddle_around(unsigned first, unsigned last) { raddle_.first = first, raddle_.last = last; }

/* The operations named from now on are called by one thread only; 0 ends that. */
RADDLE_UNSEEN void raddle_group(const char *group) { raddle_.group = group; }

RADDLE_UNSEEN void raddle_add_(const char *name, long (*function)(long), long low, long high, int has_argument) {
    if (raddle_.operation_count == RADDLE_MOST_OPERATIONS) raddle_quit_("too many operations: ", name);
    struct raddle_operation_ *added = &raddle_.operations[raddle_.operation_count++];
    added->name = name, added->group = raddle_.group, added->function = function;
    added->low = low, added->high = high, added->has_argument = has_argument;
}

/* Adds an operation with an argument from `low` to `high`. */
RADDLE_UNSEEN void raddle_operation_with(const char *name, long (*function)(long), long low, long high) {
    raddle_add_(name, function, low, high, 1);
}

/* Adds an operation without an argument; it gets 0. */
RADDLE_UNSEEN void raddle_operation(const char *name, long (*function)(long)) { raddle_add_(name, function, 0, 0, 0); }

/* Sets a sequential model: `size` bytes, zero at first, and what a call does to them. Without one, the structure itself, used by
 * one thread, says which results are right. */
RADDLE_UNSEEN void raddle_model(size_t size, long (*model)(void *state, const char *operation, long argument)) {
    if (size > RADDLE_MOST_STATE) raddle_quit_("raddle_model: ", "at most 4096 bytes");
    raddle_.model = model, raddle_.model_size = size;
}

/* Reads calls such as `push(1) pop()`. */
RADDLE_UNSEEN void raddle_read_(const char *text, unsigned thread) {
    raddle_.from[thread] = raddle_.call_count;
    while (*(text += strspn(text, " "))) {
        size_t length = strcspn(text, "(");
        struct raddle_call_ *call = &raddle_.calls[raddle_.call_count++];
        if (raddle_.call_count > RADDLE_MOST_CALLS) raddle_quit_("too many calls: ", text);
        for (unsigned i = 0; i < raddle_.operation_count; i++) {
            struct raddle_operation_ *known = &raddle_.operations[i];
            if (strlen(known->name) == length && !strncmp(known->name, text, length)) call->operation = known;
        }
        if (!call->operation || text[length] != '(') raddle_quit_("no such operation: ", text);
        char *end;
        call->argument = strtol(text + length + 1, &end, 10);
        if (*end != ')') raddle_quit_("a call has no closing parenthesis: ", text);
        call->thread = thread, text = end + 1;
    }
    raddle_.to[thread] = raddle_.call_count;
}

RADDLE_UNSEEN unsigned raddle_tick_(void) { return __atomic_fetch_add(&raddle_.clock, 1, __ATOMIC_SEQ_CST); }

RADDLE_UNSEEN void raddle_calls_(unsigned part, int is_concurrent) {
    for (unsigned i = raddle_.from[part]; i < raddle_.to[part]; i++) {
        struct raddle_call_ *call = &raddle_.calls[i];
        if (is_concurrent) raddle_call(raddle_objects_, part - 1, raddle_.thread_count);
        call->begun = raddle_tick_();
        call->result = call->operation->function(call->argument);
        if (is_concurrent) raddle_return(raddle_objects_, part - 1, raddle_.thread_count);
        call->ended = raddle_tick_();
    }
}

RADDLE_UNSEEN void *raddle_thread_(void *part) {
    raddle_calls_((unsigned)(size_t)part, 1);
    return 0;
}

/* Returns the result of the last call of `order` in an execution one after the other. `states` has that of the model before it. */
RADDLE_UNSEEN long raddle_result_(const unsigned *order, unsigned count, const char *before, char *after) {
    struct raddle_call_ *last = &raddle_.calls[order[count - 1]];
    if (raddle_.model) {
        memcpy(after, before, raddle_.model_size);
        return raddle_.model(after, last->operation->name, last->argument);
    }
    long result = 0;
    raddle_.make();
    for (unsigned i = 0; i < count; i++) {
        struct raddle_call_ *call = &raddle_.calls[order[i]];
        result = call->operation->function(call->argument);
    }
    return result;
}

/* Returns true if an order of the calls that are not in the first `count` of `order` explains all results. */
RADDLE_UNSEEN int raddle_explains_(unsigned *order, unsigned count, const char *before) {
    if (count == raddle_.call_count) return 1;
    char *after = (char *)malloc(raddle_.model_size + 1);
    int found = 0;
    for (unsigned i = 0; i < raddle_.call_count && !found; i++) {
        int may_come = 1;
        for (unsigned j = 0; j < count; j++) may_come &= order[j] != i;
        for (unsigned other = 0; other < raddle_.call_count && may_come; other++) {
            int is_done = 0;
            for (unsigned j = 0; j < count; j++) is_done |= order[j] == other;
            may_come = is_done || raddle_.calls[other].ended > raddle_.calls[i].begun;
        }
        if (!may_come) continue;
        order[count] = i;
        found = raddle_result_(order, count + 1, before, after) == raddle_.calls[i].result &&
                raddle_explains_(order, count + 1, after);
    }
    free(after);
    return found;
}

/* Prints the calls of each thread in a row, by the order in which they began and ended. */
RADDLE_UNSEEN void raddle_print_(void) {
    unsigned columns[2 * RADDLE_MOST_CALLS + 1] = {0};
    char texts[RADDLE_MOST_CALLS][96];
    for (unsigned time = 0; time < raddle_.clock; time++) {
        if (time) columns[time] = columns[time - 1] + 1;
        for (unsigned i = 0; i < raddle_.call_count; i++) {
            struct raddle_call_ *call = &raddle_.calls[i];
            if (call->begun == time) {
                char argument[24] = "";
                if (call->operation->has_argument) snprintf(argument, sizeof argument, "%ld", call->argument);
                snprintf(texts[i], sizeof texts[i], "%s(%s) = %ld", call->operation->name, argument, call->result);
            }
            unsigned least = columns[call->begun] + (unsigned)strlen(texts[i]) + 1;
            if (call->ended == time && columns[time] < least) columns[time] = least;
        }
    }
    fprintf(stderr, "not linearizable: no order of the calls has these results\n\n");
    for (unsigned part = 0; part <= raddle_.thread_count + 1; part++) {
        if (raddle_.from[part] == raddle_.to[part]) continue;
        if (part == 0) fprintf(stderr, "  %-6s", "first");
        else if (part <= raddle_.thread_count) fprintf(stderr, "  T%-5u", part);
        else fprintf(stderr, "  %-6s", "last");
        unsigned column = 0;
        for (unsigned i = raddle_.from[part]; i < raddle_.to[part]; i++) {
            struct raddle_call_ *call = &raddle_.calls[i];
            for (; column < columns[call->begun]; column++) fputc(' ', stderr);
            column += (unsigned)fprintf(stderr, "|%s", texts[i]);
            for (; column < columns[call->ended]; column++) fputc('-', stderr);
            column += (unsigned)fprintf(stderr, "|");
        }
        fprintf(stderr, "\n");
    }
}

/* Executes the scenario of the arguments, the calls of one thread in each: "push(1) pop()" "pop()". Calls before the threads are
 * in an argument that begins with "first=", those after them in one with "last=". */
RADDLE_UNSEEN int raddle_linearizable(int argc, char **argv) {
    const char *last = "";
    if (argc == 2 && !strcmp(argv[1], "--describe")) {
        printf("shape %u %u %u %u\n", raddle_.threads ? raddle_.threads : 2, raddle_.size ? raddle_.size : 3, raddle_.first,
               raddle_.last);
        for (unsigned i = 0; i < raddle_.operation_count; i++) {
            struct raddle_operation_ *known = &raddle_.operations[i];
            printf("operation %s %d %ld %ld %s\n", known->name, known->has_argument, known->low, known->high,
                   known->group ? known->group : "-");
        }
        return 0;
    }
    if (!raddle_.make || argc < 2) raddle_quit_("no structure or no calls; usage: raddle run ", argv[0]);
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "first=", 6)) raddle_read_(argv[i] + 6, 0);
    }
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "last=", 5)) last = argv[i] + 5;
        else if (strncmp(argv[i], "first=", 6)) {
            if (raddle_.thread_count == RADDLE_MOST_THREADS) raddle_quit_("too many threads: ", argv[i]);
            raddle_read_(argv[i], ++raddle_.thread_count);
        }
    }
    raddle_read_(last, raddle_.thread_count + 1);
    raddle_.make();
    raddle_calls_(0, 0);
    pthread_t threads[RADDLE_MOST_THREADS];
    for (size_t i = 0; i < raddle_.thread_count; i++)
        if (pthread_create(&threads[i], 0, raddle_thread_, (void *)(i + 1))) raddle_quit_("cannot start a thread", "");
    for (unsigned i = 0; i < raddle_.thread_count; i++) pthread_join(threads[i], 0);
    raddle_calls_(raddle_.thread_count + 1, 0);
    unsigned order[RADDLE_MOST_CALLS];
    char state[RADDLE_MOST_STATE];
    memset(state, 0, sizeof state);
    int is_linearizable = raddle_explains_(order, 0, state);
    if (!is_linearizable) raddle_print_();
    assert(is_linearizable);
    return 0;
}

#endif
