/* Parallel regions, loops, tasks and locks of OpenMP. */
#include <assert.h>
#include <omp.h>
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

int main(int count, char **arguments) {
    assert(count == 2);
    if (strcmp(arguments[1], "right") == 0) right();
    if (strcmp(arguments[1], "update") == 0) update();
    if (strcmp(arguments[1], "locks") == 0) locks();
    return 0;
}
