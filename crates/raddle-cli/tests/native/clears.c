// Clears the environment before `main`, and ends with 0 if it is still clear there.
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void clear(void) { clearenv(); }

int main(void) { return environ != NULL; }
