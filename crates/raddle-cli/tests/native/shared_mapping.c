// Has anonymous memory in its memory map before `main`: shared, or a large block of the heap.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

static int *shared, *block;

__attribute__((constructor)) static void make(void) {
    shared = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    block = calloc(1 << 22, 4);
}

static void *add(void *unused) {
    int seen = *shared;
    *shared = seen + 1;
    seen = block[1 << 12];
    block[1 << 12] = seen + 1;
    return unused;
}

int main(void) {
    pthread_t threads[2];
    // All runs share it.
    *shared = 0;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert(*shared == 2 && block[1 << 12] == 2);
    return 0;
}
