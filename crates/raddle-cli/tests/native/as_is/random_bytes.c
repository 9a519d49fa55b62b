// Random files and functions return as many bytes as are asked for.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static char bytes[300000];

int main(void) {
    FILE *stream = fopen("/dev/urandom", "r");
    printf("%zu\n", fread(bytes, 1, sizeof bytes, stream));
    printf("%d\n", fgetc(stream) != EOF);
    fclose(stream);
    int file = open("/dev/urandom", O_RDONLY);
    printf("%zd\n", read(file, bytes, sizeof bytes));
    printf("%zd\n", getrandom(bytes, sizeof bytes, 0));
    int zeros = 0;
    for (size_t index = sizeof bytes - 100; index < sizeof bytes; index++) zeros += bytes[index] == 0;
    printf("%d\n", zeros < 50);
    return 0;
}
