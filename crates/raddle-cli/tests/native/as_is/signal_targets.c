/* A handler runs on the thread that the signal is sent to, or on one that does not block it. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_t handled_by;
static volatile sig_atomic_t count, code, value;
static sem_t ready, done;

static void note(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)context;
    handled_by = pthread_self();
    code = info->si_code;
    value = info->si_value.sival_int;
    count++;
    sem_post(&done);
}

static void *waits(void *argument) {
    (void)argument;
    sem_post(&ready);
    while (count < 1)
        usleep(1000);
    return NULL;
}

static void *blocks(void *argument) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sem_post(&ready);
    sem_wait(argument);
    sigset_t pending;
    sigpending(&pending);
    printf("pending %d, handled %d\n", sigismember(&pending, SIGUSR2), (int)count);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    printf("after unblocking: handled %d, here %d\n", (int)count, pthread_equal(handled_by, pthread_self()) != 0);
    return NULL;
}

static void *idle(void *argument) {
    sem_post(&ready);
    sem_wait(argument);
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = note;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sigaction(SIGRTMIN, &action, NULL);
    sem_init(&ready, 0, 0);
    sem_init(&done, 0, 0);
    pthread_t thread;

    pthread_create(&thread, NULL, waits, NULL);
    sem_wait(&ready);
    printf("pthread_kill: %d\n", pthread_kill(thread, SIGUSR1));
    while (sem_wait(&done) < 0)
        ;
    pthread_join(thread, NULL);
    printf("on the target: %d, code %d\n", pthread_equal(handled_by, thread) != 0, code);

    count = 0;
    sem_t go;
    sem_init(&go, 0, 0);
    pthread_create(&thread, NULL, blocks, &go);
    sem_wait(&ready);
    pthread_kill(thread, SIGUSR2);
    pthread_kill(thread, SIGUSR2);
    sem_post(&go);
    pthread_join(thread, NULL);

    /* The main thread blocks it, so another one handles it. */
    sigset_t set;
    pthread_create(&thread, NULL, idle, &go);
    sem_wait(&ready);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    count = 0;
    while (sem_trywait(&done) == 0)
        ;
    kill(getpid(), SIGUSR1);
    sem_wait(&done);
    printf("kill: handled %d, on the other thread %d\n", (int)count, pthread_equal(handled_by, thread) != 0);
    sem_post(&go);
    sem_post(&go);
    pthread_join(thread, NULL);

    /* The main thread comes first. */
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(SIGUSR1);
    printf("raise: here %d, code %d\n", pthread_equal(handled_by, pthread_self()) != 0, code == SI_TKILL);
    syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1);
    printf("tgkill: handled %d\n", (int)count);

    /* Real-time signals queue, and carry values. */
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int number = 1; number <= 3; number++)
        sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = number});
    siginfo_t info;
    while (sigtimedwait(&set, &info, &(struct timespec){0}) == SIGRTMIN)
        printf("value %d, code %d\n", info.si_value.sival_int, info.si_code == SI_QUEUE);
    printf("then %s\n", strerror(errno));
    printf("no such thread: %d\n", pthread_kill(pthread_self(), 0));
    return 0;
}
