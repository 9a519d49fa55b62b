/* The signal may come between the test of the flag and the call of `pause`. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t came;
static pthread_t waits;

static void note(int signal) {
    (void)signal;
    came = 1;
}

static void *sends(void *unused) {
    pthread_kill(waits, SIGUSR1);
    return unused;
}

int main(int count, char **words) {
    pthread_t thread;
    sigset_t block, before;
    int is_right = count > 1 && strcmp(words[1], "right") == 0;
    signal(SIGUSR1, note);
    waits = pthread_self();
    sigemptyset(&block);
    if (is_right)
        sigaddset(&block, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &block, &before);
    pthread_create(&thread, NULL, sends, NULL);
    while (!came)
        is_right ? sigsuspend(&before) : pause();
    pthread_join(thread, NULL);
    return 0;
}
