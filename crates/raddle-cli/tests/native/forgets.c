// Simulates a kernel that forgets the address settings, and does not restart forever.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int personality(unsigned long persona) {
    int starts = open("starts", O_CREAT | O_APPEND | O_WRONLY, 0600);
    if (persona != 0xffffffff && write(starts, "x", 1) == 1 && lseek(starts, 0, SEEK_END) > 3) abort();
    close(starts);
    return 0;
}

int main(void) { return getenv("RADDLE_NATIVE_AGAIN") != NULL; }
