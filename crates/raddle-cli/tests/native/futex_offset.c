// A futex in the second half of eight bytes: the waker wakes before it changes the word, so that the waiter may sleep forever.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    int unused;
    atomic_int word;
} pair __attribute__((aligned(8)));

static void *wait_for_change(void *unused) {
    syscall(SYS_futex, &pair.word, FUTEX_WAIT, 0, NULL, NULL, 0);
    return unused;
}

int main(void) {
    pthread_t waiter;
    pthread_create(&waiter, NULL, wait_for_change, NULL);
    syscall(SYS_futex, &pair.word, FUTEX_WAKE, 1, NULL, NULL, 0);
    atomic_store(&pair.word, 1);
    pthread_join(waiter, NULL);
    return 0;
}
