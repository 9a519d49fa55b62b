// The clocks of processor time start with the program.
#include <stdio.h>
#include <time.h>

int main(void) {
    struct timespec process, thread;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &process);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &thread);
    printf("%d %d %d\n", process.tv_sec < 5, thread.tv_sec < 5, clock() < 5 * CLOCKS_PER_SEC);
    return 0;
}
