/* Prints by which names and with which lists it was started. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

extern char **environ;

int main(int count, char **words, char **variables) {
    printf("%s, %s, %s, %s\n", words[0], program_invocation_name, program_invocation_short_name,
           count > 1 ? words[1] : "no more");
    /* Runtimes such as Go's read the lists as they are on the stack. */
    char **behind = words + count + 1;
    printf("%d %d\n", behind == variables, behind == environ);
    while (*behind)
        behind++;
    unsigned long *vector = (unsigned long *)(behind + 1), pages = 0;
    for (int index = 0; vector[index] != AT_NULL && index < 100; index += 2)
        if (vector[index] == AT_PAGESZ)
            pages = vector[index + 1];
    printf("page size %lu %d\n", pages, pages == getauxval(AT_PAGESZ));
    for (char **entry = environ; *entry; entry++)
        if (strncmp(*entry, "RADDLE_NATIVE", 13) == 0 || strncmp(*entry, "LD_PRELOAD", 10) == 0)
            puts(*entry);
    printf("HOME %s\n", getenv("HOME") ? "is set" : "is not set");
    return 0;
}
