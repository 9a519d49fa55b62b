/* Each thread has a stack of its own for handlers. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define SIZE 65536

static sem_t next;
static char *stacks[2];
static volatile sig_atomic_t on_own[2];

static void note(int signal) {
    char here;
    int index = signal == SIGUSR1 ? 0 : 1;
    stack_t now;
    sigaltstack(NULL, &now);
    on_own[index] = &here >= stacks[index] && &here < stacks[index] + SIZE;
    on_own[index] += 2 * ((now.ss_flags & SS_ONSTACK) != 0);
    sem_post(&next);
}

static void *run(void *argument) {
    int index = *(int *)argument;
    stack_t stack = {.ss_sp = stacks[index], .ss_size = SIZE}, before;
    printf("%d\n", sigaltstack(&stack, NULL));
    sigaltstack(NULL, &before);
    printf("%d %d\n", before.ss_sp == stacks[index], before.ss_size == SIZE);
    raise(index == 0 ? SIGUSR1 : SIGUSR2);
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sem_init(&next, 0, 0);
    stack_t none;
    sigaltstack(NULL, &none);
    printf("disabled: %d\n", none.ss_flags == SS_DISABLE);
    for (int index = 0; index < 2; index++) {
        pthread_t thread;
        stacks[index] = malloc(SIZE);
        pthread_create(&thread, NULL, run, &index);
        sem_wait(&next);
        pthread_join(thread, NULL);
        printf("on its own stack: %d\n", (int)on_own[index]);
    }
    stack_t small = {.ss_sp = stacks[0], .ss_size = 100};
    printf("small: %d\n", sigaltstack(&small, NULL));
    return 0;
}
