// Ends with 0 if SIGCHLD is as the argument says ("ignored" or "default") and not blocked, in the main thread
// and in another one, and a child can be waited for if it is not ignored.
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *is_blocked(void *result) {
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    *(int *)result = sigismember(&set, SIGCHLD);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 2) return 1;
    struct sigaction action;
    sigaction(SIGCHLD, NULL, &action);
    int ignored = strcmp(argv[1], "ignored") == 0;
    if (action.sa_handler != (ignored ? SIG_IGN : SIG_DFL)) return 2;
    int here, there;
    pthread_t thread;
    is_blocked(&here);
    pthread_create(&thread, NULL, is_blocked, &there);
    pthread_join(thread, NULL);
    if (here || there) return 3;
    pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    pid_t waited = waitpid(child, &status, 0);
    if (ignored) return waited == -1 ? 0 : 4;
    return waited == child && WEXITSTATUS(status) == 7 ? 0 : 5;
}
