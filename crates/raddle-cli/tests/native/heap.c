// Allocates and frees in all ways, more than the runtime keeps of freed memory.
#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *work(void *unused) {
    for (int round = 0; round < 400; round++) {
        char *text = malloc(100);
        strcpy(text, "kept");
        text = realloc(text, 100000);
        assert(strcmp(text, "kept") == 0);
        text = reallocarray(text, 2, 8);
        assert(strcmp(text, "kept") == 0);
        free(text);
    }
    long *zeroes = calloc(1000, sizeof *zeroes);
    for (int i = 0; i < 1000; i++) assert(zeroes[i] == 0);
    free(zeroes);
    void *page = NULL;
    assert(posix_memalign(&page, 4096, 10) == 0 && (uintptr_t)page % 4096 == 0);
    void *line = aligned_alloc(64, 128), *other = memalign(256, 3);
    assert((uintptr_t)line % 64 == 0 && (uintptr_t)other % 256 == 0);
    void *freed = realloc(malloc(3), 0);
    assert(freed == NULL);
    free(page), free(line), free(other), free(NULL);
    void *huge = malloc(20 << 20);
    free(huge);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) assert(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
