/* The process, or a forked one, becomes another program. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *become(void *unused) {
    execlp("echo", "echo", "one", "two", (char *)NULL);
    return unused;
}

int main(int count, char **words) {
    const char *how = count > 1 ? words[1] : "";
    char *arguments[] = {"echo", "one", "two", NULL};
    if (strcmp(how, "vector") == 0)
        execv("/bin/echo", arguments);
    if (strcmp(how, "list") == 0)
        execl("/bin/echo", "echo", "one", "two", (char *)NULL);
    if (strcmp(how, "fault") == 0)
        return execv((char *)8, arguments) == -1 && errno == EFAULT ? 0 : 1;
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, become, NULL);
        pthread_join(thread, NULL);
    }
    if (fork() == 0) {
        execl("/bin/echo", "echo", "one", "two", (char *)NULL);
        _exit(1);
    }
    wait(NULL);
    return 0;
}
