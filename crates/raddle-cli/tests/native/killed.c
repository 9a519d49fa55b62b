// Is killed by its own child process, which simulates the system or a user, or by itself; or the child kills the parent of both.
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 2) return 1;
    if (!strcmp(argv[1], "self")) kill(getpid(), SIGKILL);
    int is_server = !strcmp(argv[1], "server");
    pid_t victim = is_server ? getppid() : getpid(), child = fork();
    if (child == 0) {
        // Once: only if the file does not exist yet.
        int first = argc < 3 || open(argv[2], O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;
        if (first) kill(victim, SIGKILL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
}
