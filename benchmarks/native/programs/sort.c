// Sorts numbers by merging: the main thread most of them, another one a tenth, each in its own memory. The argument is the
// number of numbers.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    unsigned *numbers, *spare;
    size_t count;
};

static void sort(unsigned *numbers, unsigned *spare, size_t count) {
    if (count < 2) return;
    size_t half = count / 2, left = 0, right = half;
    sort(numbers, spare, half);
    sort(numbers + half, spare, count - half);
    for (size_t to = 0; to < count; to++) {
        int takes_left = right == count || (left < half && numbers[left] <= numbers[right]);
        spare[to] = takes_left ? numbers[left++] : numbers[right++];
    }
    for (size_t at = 0; at < count; at++) numbers[at] = spare[at];
}

static void *sort_part(void *argument) {
    struct part part = *(struct part *)argument;
    unsigned state = 7;
    for (size_t at = 0; at < part.count; at++) part.numbers[at] = state = state * 1664525 + 1013904223;
    sort(part.numbers, part.spare, part.count);
    return argument;
}

static struct part make(size_t count) {
    struct part part = {malloc(count * sizeof(unsigned)), malloc(count * sizeof(unsigned)), count};
    if (part.numbers == NULL || part.spare == NULL) exit(3);
    return part;
}

int main(int argc, char **argv) {
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    struct part most = make(count - count / 10), rest = make(count / 10);
    pthread_t thread;
    pthread_create(&thread, NULL, sort_part, &rest);
    sort_part(&most);
    pthread_join(thread, NULL);
    printf("%u %u\n", most.numbers[0], rest.numbers[0]);
    return 0;
}
