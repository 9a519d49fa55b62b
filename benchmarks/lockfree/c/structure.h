/* The two programs of a structure. With LINEARIZABLE, `raddle run` draws scenarios of `put` and `take`. Otherwise it is the test
 * of the TXIT paper for `raddle tx`: each of three threads puts two values and takes two. Arguments: how often, and threads. */
#include <raddle/linearizable.h>

#define LOAD(p) __atomic_load_n(p, __ATOMIC_SEQ_CST)
#define STORE(p, v) __atomic_store_n(p, v, __ATOMIC_SEQ_CST)
#define CAS(p, expected, v) __atomic_compare_exchange_n(p, expected, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define ADD(p, v) __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST)

enum { EMPTY = -1, FULL = -2 };
/* The structure has these functions. `take` returns EMPTY if there is nothing. */
static void make(void);
long put(long value);
long take(long unused);

#ifdef LINEARIZABLE
#define PROGRAM(put_group, take_group)              \
    int main(int argc, char **argv) {               \
        raddle_structure(make);                     \
        raddle_around(1, 0);                        \
        raddle_group(put_group);                    \
        raddle_operation_with("put", put, 1, 3);    \
        raddle_group(take_group);                   \
        raddle_operation("take", take);             \
        return raddle_linearizable(argc, argv);     \
    }
#else
static long repetitions = 1;
static int is_pair;
static void *mixed(void *unused) {
    for (long i = 0; i < repetitions; i++) {
        put(1), put(2);
        take(0), take(0);
    }
    return unused;
}
static void *producer(void *unused) {
    for (long i = 0; i < 6 * repetitions; i++)
        while (put(i) == FULL && repetitions > 1) {}
    return unused;
}
static void *consumer(void *unused) {
    for (long i = 0; i < 6 * repetitions; i++)
        while (take(0) == EMPTY && repetitions > 1) {}
    return unused;
}
#define PROGRAM(put_group, take_group)                                                     \
    int main(int argc, char **argv) {                                                      \
        const char *group = put_group;                                                     \
        int count = argc > 2 ? atoi(argv[2]) : group ? 2 : 3;                              \
        pthread_t threads[8];                                                              \
        if (argc > 1) repetitions = atol(argv[1]);                                         \
        is_pair = group != 0;                                                              \
        make();                                                                            \
        for (int i = 0; i < count; i++)                                                    \
            pthread_create(&threads[i], 0, !is_pair ? mixed : i ? consumer : producer, 0); \
        for (int i = 0; i < count; i++) pthread_join(threads[i], 0);                       \
        (void)take_group;                                                                  \
    }
#endif
