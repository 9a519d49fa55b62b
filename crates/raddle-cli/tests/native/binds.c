// As a library (LIBRARY): a function that hides one of libc's. As a program: ends with 0 if calls are bound when `main` begins, except the
// one to that function, and if that one is called; with an argument, if none is bound. It prints on how many processors it may run.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LIBRARY
// It has no version, in a library with versions, because it calls libc.
int atoi(const char *text) { return strlen(text) == 1 ? 42 : 0; }
#else
extern void *_GLOBAL_OFFSET_TABLE_[];
extern char __executable_start, etext;

// The number of calls of this program that lead to its own code that asks the loader. The first three entries are not calls.
static int unbound(int calls) {
    int count = 0;
    for (int call = 3; call < 3 + calls; call++) {
        char *to = _GLOBAL_OFFSET_TABLE_[call];
        count += to >= &__executable_start && to < &etext;
    }
    return count;
}

int main(int argc, char **argv) {
    (void)argv;
    // atoi, printf, sched_getaffinity and the function behind CPU_COUNT
    if (unbound(4) != (argc > 1 ? 4 : 1)) return 1;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 2;
    printf("%d\n", CPU_COUNT(&set));
    return atoi("0") == 42 && unbound(4) == 0 ? 0 : 3;
}
#endif
