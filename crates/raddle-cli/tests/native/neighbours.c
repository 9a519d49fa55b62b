// Variables that lie beside each other. The argument says how two threads use them:
//   apart      each thread has an int of its own
//   both       both threads write both ints, the first one and then the second one
//   overlap    one thread writes the four chars of a word one by one, the other one copies the word
#include <pthread.h>
#include <string.h>

static struct {
    volatile int first, second;
} ints __attribute__((aligned(8)));
static union {
    volatile char chars[4];
    volatile int word;
} mixed __attribute__((aligned(8)));
static char how;

static void use(int thread) {
    if (how == 'a') {
        if (thread == 0) ints.first = 1, ints.first = 2;
        else ints.second = 1, ints.second = 2;
    } else if (how == 'b') {
        ints.first = thread;
        ints.second = thread;
    } else if (thread == 0) {
        for (int i = 0; i < 4; i++) mixed.chars[i] = 1;
    } else {
        int word = mixed.word;
        (void)word;
    }
}

static void *other(void *unused) {
    use(1);
    return unused;
}

int main(int count, char **words) {
    how = count > 1 ? words[1][0] : 'a';
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    use(0);
    pthread_join(thread, NULL);
    return 0;
}
