/* Parallel regions, loops, tasks and locks of OpenMP. */
#include <assert.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static int fibonacci(int n) {
    if (n < 2) return n;
    int a, b;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void right(void) {
    int sum = 0, count = 0, result = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum) num_threads(4)
    for (int i = 0; i < 10; i++) sum += i;
    assert(sum == 45);
#pragma omp parallel num_threads(3)
    {
#pragma omp critical
        count++;
#pragma omp critical(named)
        sum++;
#pragma omp barrier
        assert(count == 3 && sum == 48);
#pragma omp single
        result = fibonacci(5);
    }
    assert(result == 5);
}

static void update(void) {
    int count = 0;
#pragma omp parallel num_threads(3)
    {
        int before = count;
        count = before + 1;
    }
    assert(count == 3);
}

static void locks(void) {
    omp_lock_t a, b;
    omp_init_lock(&a);
    omp_init_lock(&b);
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
            omp_set_lock(&a);
            omp_set_lock(&b);
            omp_unset_lock(&b);
            omp_unset_lock(&a);
        }
#pragma omp section
        {
            omp_set_lock(&b);
            if (omp_test_lock(&a)) omp_unset_lock(&a);
            omp_set_lock(&a);
            omp_unset_lock(&a);
            omp_unset_lock(&b);
        }
    }
}

static void *using_the_heap(void *unused) {
    free(malloc(100));
    return unused;
}

// A foreign thread ends, and no further signals arrive.
static void beside(void) {
    pthread_t other;
    assert(pthread_create(&other, NULL, using_the_heap, NULL) == 0 && pthread_join(other, NULL) == 0);
    sigset_t all;
    sigfillset(&all);
    assert(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
    right();
}

static void ignore(int signal) { (void)signal; }

static void handle(void) {
    struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGSYS, &action, NULL);
    right();
}

int main(int count, char **arguments) {
    assert(count == 2);
    if (strcmp(arguments[1], "right") == 0) right();
    if (strcmp(arguments[1], "update") == 0) update();
    if (strcmp(arguments[1], "locks") == 0) locks();
    if (strcmp(arguments[1], "beside") == 0) beside();
    if (strcmp(arguments[1], "handle") == 0) handle();
    return 0;
}
