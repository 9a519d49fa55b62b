// Prints random numbers of every kind from two threads, and fails in some runs so that they are seen.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <pthread.h>
#include <random>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned numbers[2][8];

static void *draw(void *argument) {
    unsigned *mine = numbers[(long)argument];
    assert(getrandom(&mine[0], 4, 0) == 4);
    assert(getentropy(&mine[1], 4) == 0);
    assert(syscall(SYS_getrandom, &mine[2], 4L, 0L) == 4);
    int file = open("/dev/urandom", O_RDONLY);
    assert(read(file, &mine[3], 4) == 4);
    close(file);
    FILE *stream = fopen("/dev/random", "r");
    assert(fread(&mine[4], 4, 1, stream) == 1);
    fclose(stream);
    mine[5] = std::random_device()();
    mine[6] = *(unsigned *)getauxval(AT_RANDOM);
#if __GLIBC_PREREQ(2, 36)
    mine[7] = arc4random();
#endif
    return NULL;
}

static unsigned early = std::random_device()();

int main() {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, draw, (void *)i);
    for (long i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("early %u\n", early);
    for (int i = 0; i < 8; i++) printf("%d: %u %u\n", i, numbers[0][i], numbers[1][i]);
    fflush(stdout);
    if (numbers[0][0] % 8 == 0) abort();
    return 0;
}
