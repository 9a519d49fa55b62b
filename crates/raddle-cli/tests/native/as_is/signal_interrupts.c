/* A signal ends a waiting call, or the call goes on after the handler. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled, entered;
static sem_t never, post_by_handler;
static int ends[2], set;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void note(int signal) {
    (void)signal;
    handled++;
    sem_post(&post_by_handler);
}

static void show(const char *call, long result) {
    printf("%s: %ld, %s\n", call, result, result < 0 ? strerror(errno) : "no error");
}

static void in_sem_wait(void) { show("sem_wait", sem_wait(&never)); }
static void in_sem_timedwait(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 1000;
    show("sem_timedwait", sem_timedwait(&never, &time));
}
static void in_nanosleep(void) {
    struct timespec rest = {0}, time = {1000, 0};
    show("nanosleep", nanosleep(&time, &rest));
    printf("rest %d\n", rest.tv_sec > 0);
}
static void in_clock_nanosleep(void) {
    struct timespec time = {1000, 0};
    printf("clock_nanosleep: %d\n", clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL) == EINTR);
}
static void in_sleep(void) { printf("sleep: %d\n", sleep(1000) > 0); }
static void in_read(void) {
    char byte;
    show("read", read(ends[0], &byte, 1));
}
static void in_poll(void) {
    struct pollfd file = {ends[0], POLLIN, 0};
    show("poll", poll(&file, 1, -1));
}
static void in_select(void) {
    fd_set files;
    FD_ZERO(&files);
    FD_SET(ends[0], &files);
    show("select", select(ends[0] + 1, &files, NULL, NULL, NULL));
}
static void in_epoll(void) {
    struct epoll_event event;
    show("epoll_wait", epoll_wait(set, &event, 1, -1));
}
static void in_pause(void) { show("pause", pause()); }
static void in_accept(void) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(file, (struct sockaddr *)&name, sizeof(sa_family_t));
    listen(file, 1);
    show("accept", accept(file, NULL, NULL));
    close(file);
}
static void in_sigwaitinfo(void) {
    sigset_t other;
    sigemptyset(&other);
    sigaddset(&other, SIGUSR2);
    show("sigwaitinfo", sigwaitinfo(&other, NULL));
}
static void in_sigsuspend(void) {
    sigset_t none;
    sigemptyset(&none);
    show("sigsuspend", sigsuspend(&none));
}

static void *call(void *function) {
    entered = 1;
    ((void (*)(void))function)();
    return NULL;
}

/* Sends signals until the call has returned. */
static void interrupt(void (*function)(void)) {
    pthread_t thread;
    entered = handled = 0;
    pthread_create(&thread, NULL, call, (void *)function);
    while (!entered)
        usleep(100);
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        pthread_kill(thread, SIGUSR1);
        usleep(20000);
    }
    printf("handled: %d\n", handled > 0);
}

/* These go on after the handler. */
static void *locks(void *unused) {
    (void)unused;
    entered = 1;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return NULL;
}
static void *reads(void *unused) {
    (void)unused;
    char byte = 0;
    entered = 1;
    long result = read(ends[0], &byte, 1);
    printf("read after the handler: %ld %c\n", result, byte);
    return NULL;
}
static void *joins(void *thread) {
    entered = 1;
    printf("join: %d\n", pthread_join(*(pthread_t *)thread, NULL));
    return NULL;
}
static void *idles(void *unused) {
    (void)unused;
    while (sem_wait(&never) != 0)
        ;
    return NULL;
}

static void goes_on(void *(*function)(void *), void *argument, void (*release)(void)) {
    pthread_t thread;
    entered = handled = 0;
    pthread_create(&thread, NULL, function, argument);
    while (!entered)
        usleep(100);
    usleep(20000);
    pthread_kill(thread, SIGUSR1);
    while (sem_wait(&post_by_handler) != 0)
        ;
    release();
    pthread_join(thread, NULL);
    printf("handled: %d\n", handled == 1);
}
static void unlock(void) { pthread_mutex_unlock(&mutex); }
static void fill(void) { write(ends[1], "x", 1); }
static void let_idle(void) { sem_post(&never); }

int main(void) {
    struct sigaction action = {.sa_handler = note};
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&never, 0, 0);
    sem_init(&post_by_handler, 0, 0);
    pipe(ends);
    set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);

    void (*calls[])(void) = {in_sem_wait, in_sem_timedwait, in_nanosleep, in_clock_nanosleep, in_sleep,
                             in_read,     in_poll,          in_select,    in_epoll,           in_pause,
                             in_accept,   in_sigwaitinfo,   in_sigsuspend};
    for (unsigned index = 0; index < sizeof calls / sizeof *calls; index++)
        interrupt(calls[index]);

    while (sem_trywait(&post_by_handler) == 0)
        ;
    pthread_mutex_lock(&mutex);
    goes_on(locks, NULL, unlock);
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    goes_on(reads, NULL, fill);
    pthread_t idle;
    pthread_create(&idle, NULL, idles, NULL);
    goes_on(joins, &idle, let_idle);
    interrupt(in_poll);
    interrupt(in_nanosleep);

    /* A wait for a condition goes on or is over without a reason. */
    pthread_mutex_lock(&mutex);
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 1;
    int result = 0;
    while (result == 0)
        result = pthread_cond_timedwait(&condition, &mutex, &time);
    printf("condition: %d\n", result == ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    return 0;
}
