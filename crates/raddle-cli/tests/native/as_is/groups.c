// Signals for the process group stay among the processes of the program.
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void handle(int signal) {
    (void)signal;
    handled++;
}

int main(void) {
    // Without control, the group would have other members.
    setpgid(0, 0);
    signal(SIGUSR1, handle);
    kill(0, SIGUSR1);
    printf("%d\n", handled);
    killpg(0, SIGUSR1);
    printf("%d\n", handled);
    killpg(getpgrp(), SIGUSR1);
    printf("%d\n", handled);
    kill(-getpgrp(), SIGUSR1);
    printf("%d\n", handled);
    fflush(stdout);
    int ends[2];
    pipe(ends);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGUSR1, SIG_DFL);
        write(ends[1], "x", 1);
        for (;;) pause();
    }
    char byte;
    read(ends[0], &byte, 1);
    kill(0, SIGUSR1);
    int status;
    waitpid(child, &status, 0);
    printf("%d, the child by %d\n", handled, WTERMSIG(status) == SIGUSR1);
    return 0;
}
