// expect: pass
// points: sync
// build: c
// Other processes, by all the usual calls: one is forked by a thread while another thread has a lock.
#include "../threads.h"
#include <assert.h>
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter, answer[2];

static int ended_with(pid_t child) {
    int status;
    assert(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *hold(void *unused) {
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&mutex);
        counter++;
        sched_yield();
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

static void *fork_one(void *unused) {
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        usleep(2000); /* This process really sleeps, and no other one can answer meanwhile. */
        _exit(write(answer[1], "child", 5) == 5 ? 7 : 8);
    }
    char text[5];
    assert(read(answer[0], text, 5) == 5 && memcmp(text, "child", 5) == 0);
    assert(ended_with(child) == 7);
    return unused;
}

int main(void) {
    must(pipe(answer));
    pthread_t holding = start(hold, NULL), forking = start(fork_one, NULL);
    join(forking);

    char text[64];
    FILE *command = popen("echo from another program", "r");
    assert(command && fgets(text, sizeof text, command));
    assert(strcmp(text, "from another program\n") == 0);
    assert(pclose(command) == 0);
    assert(WEXITSTATUS(system("exit 5")) == 5);

    pid_t child;
    char *words[] = {"sh", "-c", "exit 6", NULL};
    must(posix_spawnp(&child, "sh", NULL, NULL, words, environ));
    assert(ended_with(child) == 6);
    child = vfork();
    if (child == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    assert(ended_with(child) == 0);

    /* Sleeping takes no time, so this polls often. */
    must(posix_spawnp(&child, "sh", NULL, NULL, words, environ));
    while (waitpid(child, NULL, WNOHANG) == 0) {
        usleep(1);
    }
    assert(wait(NULL) == -1 && errno == ECHILD);
    join(holding);
    assert(counter == 3);
    return 0;
}
