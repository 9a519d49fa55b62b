// A ring of two values for one producer and one consumer, and its operations for `raddle run`.
#include <raddle/linearizable.h>

static struct {
    long slots[2];
    unsigned long head, tail;
} ring;

static void make(void) { memset(&ring, 0, sizeof ring); }

static long push(long value) {
    unsigned long tail = __atomic_load_n(&ring.tail, __ATOMIC_SEQ_CST);
    if (tail - __atomic_load_n(&ring.head, __ATOMIC_SEQ_CST) == 2) return 0;
#ifdef EARLY
    __atomic_store_n(&ring.tail, tail + 1, __ATOMIC_SEQ_CST);
    ring.slots[tail % 2] = value;
#else
    ring.slots[tail % 2] = value;
    __atomic_store_n(&ring.tail, tail + 1, __ATOMIC_SEQ_CST);
#endif
    return 1;
}

static long pop(long unused) {
    unsigned long head = __atomic_load_n(&ring.head, __ATOMIC_SEQ_CST);
    (void)unused;
    if (head == __atomic_load_n(&ring.tail, __ATOMIC_SEQ_CST)) return -1;
    long value = ring.slots[head % 2];
    __atomic_store_n(&ring.head, head + 1, __ATOMIC_SEQ_CST);
    return value;
}

int main(int argc, char **argv) {
    raddle_structure(make);
#ifdef SMALL
    raddle_threads(2, 2);
#endif
    raddle_group("producer");
    raddle_operation_with("push", push, 1, 3);
    raddle_group("consumer");
    raddle_operation("pop", pop);
    return raddle_linearizable(argc, argv);
}
