/* Waits for a timer, or for something uncontrolled: a thread of the C library, asynchronous cancellation, other processes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static sem_t semaphore;
static volatile int flag;

static void handle(int signal) {
    (void)signal;
    sem_post(&semaphore);
}

static void notify(union sigval value) {
    (void)value;
    sem_post(&semaphore);
}

static void *spin(void *unused) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    while (!flag) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(int count, char **arguments) {
    const char *way = count > 1 ? arguments[1] : "";
    sem_init(&semaphore, 0, 0);
    if (!strcmp(way, "alarm") || !strcmp(way, "deadlock")) {
        if (!strcmp(way, "alarm")) signal(SIGALRM, handle);
        alarm(100);
        while (sem_wait(&semaphore) != 0) {}
    }
    if (!strcmp(way, "thread")) {
        struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify};
        struct itimerspec soon = {{0, 0}, {0, 1000}};
        timer_t timer;
        timer_create(CLOCK_MONOTONIC, &event, &timer);
        timer_settime(timer, 0, &soon, NULL);
        while (sem_wait(&semaphore) != 0) {}
    }
    if (!strcmp(way, "notice")) {
        struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify};
        mqd_t queue = mq_open("/raddle-timers", O_CREAT | O_RDONLY, 0600, NULL);
        mq_unlink("/raddle-timers");
        mq_notify(queue, &event);
    }
    if (!strcmp(way, "barrier")) {
        pthread_barrier_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        pthread_barrierattr_t attributes;
        pthread_barrierattr_init(&attributes);
        pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_barrier_init(shared, &attributes, 2);
        if (fork() == 0) {
            pthread_barrier_wait(shared);
            _exit(0);
        }
        pthread_barrier_wait(shared);
    }
    if (!strcmp(way, "parent")) kill(getppid(), SIGUSR1);
    if (!strcmp(way, "daemon")) daemon(1, 1);
    if (!strcmp(way, "cancel")) {
        pthread_t thread;
        pthread_create(&thread, NULL, spin, NULL);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    return 0;
}
