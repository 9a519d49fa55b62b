// Threads that allocate, resize and free blocks with the allocator that the program is linked with.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *run(void *number) {
    long wrong = 0;
    for (size_t size = 1; size < 20000; size = size * 3 / 2 + 1) {
        char *block = malloc(size);
        wrong += malloc_usable_size(block) < size;
        memset(block, (int)(size_t)number, size);
        block = realloc(block, 2 * size);
        wrong += block[size - 1] != (char)(size_t)number;
        void *aligned = aligned_alloc(64, 640), *page = valloc(size);
        wrong += (size_t)aligned % 64 != 0 || (size_t)page % 4096 != 0;
        free(aligned);
        free(page);
        free(block);
    }
    return (void *)wrong;
}

int main(void) {
    pthread_t threads[3];
    for (size_t index = 0; index < 3; index++) pthread_create(&threads[index], NULL, run, (void *)index);
    long wrong = 0;
    for (int index = 0; index < 3; index++) {
        void *result;
        pthread_join(threads[index], &result);
        wrong += (long)result;
    }
    printf("%ld wrong\n", wrong);
    return 0;
}
