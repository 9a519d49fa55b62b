// Variables of many types that one thread writes and the other reads; the argument selects the failure.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum state { CLOSED = -1, HALF, OPEN };
struct inner { uint16_t low, high; };
static struct { int first; struct inner parts[2]; } box;
static volatile int balance = 100;
static unsigned long large = 1;
static double rate = 0.25;
static float half;
static char letter = 'a';
static signed char small;
static bool ready;
static enum state state = CLOSED;
static volatile int *place = &balance;
static int *heap, *page;
static volatile int *gone;
static _Atomic int count = -7;
static volatile int last;
static struct pair { int a, b; } both __attribute__((aligned(8)));
static struct one { long value; } source = { 41 }, target;
static struct many { int numbers[4]; } many;

static void *writer(void *way) {
    balance = -110;
    balance += 10;
    large = 1UL << 63;
    rate = 1.5;
    half = -2;
    letter = 'z';
    small = -3;
    ready = true;
    state = OPEN;
    box.parts[1].high = 65535;
    *heap = 77;
    *gone = 5;
    place = 0;
    target = source;
    both = *(volatile struct pair *)way;
    many = *(volatile struct many *)way;
    atomic_fetch_add(&count, 10);
    int expected = 99;
    atomic_compare_exchange_strong(&count, &expected, 1);
    atomic_store(&count, -1);
    last = 4;
    if (!strcmp(way, "segv")) *(volatile int *)16 = 1;
    if (!strcmp(way, "abort")) abort();
    if (!strcmp(way, "refused")) {
        mprotect(page, 4096, PROT_READ);
        *page = 9;
    }
    return 0;
}

int main(int arguments, char **argument) {
    source.value = 42;
    both.a = many.numbers[3] = arguments;
    heap = malloc(sizeof *heap);
    *heap = 76;
    gone = malloc(sizeof *gone);
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    pthread_create(&thread, 0, writer, argument[arguments - 1]);
    *page = 8;
    pthread_join(thread, 0);
    last = last + 1;
    *gone = 78;
    free((void *)gone);
    bool all = balance == -100 && large && rate == 1.5 && half == -2 && letter == 'z' && small == -3 && ready &&
               state == OPEN && box.parts[1].high == 65535 && *heap == 77 && !place && atomic_load(&count) == -1 &&
               both.a && source.value == target.value && many.numbers[0];
    assert(!all);
}
