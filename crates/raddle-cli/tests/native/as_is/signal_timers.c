/* Timers that send signals. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms, value, code;
static sem_t called;

static void count(int signal) {
    (void)signal;
    alarms++;
}

static void note(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)context;
    value = info->si_value.sival_int;
    code = info->si_code;
    alarms++;
}

static void on_thread(union sigval argument) {
    value = argument.sival_int;
    sem_post(&called);
}

int main(void) {
    sigset_t block, before;
    sigemptyset(&block);
    sigaddset(&block, SIGALRM);
    signal(SIGALRM, count);
    sigprocmask(SIG_BLOCK, &block, &before);

    printf("alarm: %u\n", alarm(1));
    while (alarms < 1)
        sigsuspend(&before);
    printf("alarms %d, then %u left\n", (int)alarms, alarm(0));
    alarm(100);
    printf("left: %d\n", alarm(0) > 90);

    struct itimerval interval = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}}, state;
    alarms = 0;
    setitimer(ITIMER_REAL, &interval, NULL);
    while (alarms < 3)
        sigsuspend(&before);
    setitimer(ITIMER_REAL, &none, &state);
    printf("interval: %d %d\n", alarms >= 3, (int)state.it_interval.tv_usec);
    getitimer(ITIMER_REAL, &state);
    printf("stopped: %d\n", state.it_value.tv_sec == 0 && state.it_value.tv_usec == 0);
    int result = setitimer(7, &none, NULL);
    printf("bad timer: %d %d\n", result, errno == EINVAL);

    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = note;
    sigaction(SIGRTMIN, &action, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    event.sigev_value.sival_int = 42;
    timer_t timer;
    printf("timer_create: %d\n", timer_create(CLOCK_MONOTONIC, &event, &timer));
    sigaddset(&block, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &block, NULL);
    struct itimerspec once = {{0, 0}, {0, 5000000}}, left;
    alarms = 0;
    timer_settime(timer, 0, &once, NULL);
    timer_gettime(timer, &left);
    printf("running: %d\n", left.it_value.tv_nsec > 0);
    while (value == 0)
        sigsuspend(&before);
    printf("value %d, code %d, overrun %d\n", (int)value, code == SI_TIMER, timer_getoverrun(timer));
    timer_settime(timer, 0, &once, NULL);
    siginfo_t info;
    printf("sigwaitinfo: %d\n", sigwaitinfo(&block, &info) == SIGRTMIN);
    result = timer_delete(timer);
    printf("timer_delete: %d\n", result);

    /* A timer that starts a thread. */
    sem_init(&called, 0, 0);
    event = (struct sigevent){.sigev_notify = SIGEV_THREAD};
    event.sigev_notify_function = on_thread;
    event.sigev_value.sival_int = 7;
    timer_create(CLOCK_REALTIME, &event, &timer);
    timer_settime(timer, 0, &once, NULL);
    while (sem_wait(&called) != 0)
        ;
    printf("thread: %d\n", (int)value);

    /* A sleep ends early. */
    sigprocmask(SIG_SETMASK, &before, NULL);
    alarms = 0;
    alarm(1);
    printf("sleep: %d\n", sleep(60) > 50);
    printf("alarms %d\n", (int)alarms);
    ualarm(1000, 0);
    while (alarms < 2)
        pause();
    puts("ualarm");
    return 0;
}
