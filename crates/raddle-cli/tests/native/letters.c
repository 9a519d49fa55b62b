// Two threads read an argument each, letter by letter. In memory the arguments are adjacent.
#include <pthread.h>
#include <stdio.h>

static int letters;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *count(void *text) {
    for (const char *next = text; *next; next++) {
        pthread_mutex_lock(&lock);
        letters += *next != ' ';
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int number, char **arguments) {
    if (number != 3) return 1;
    pthread_t a, b;
    pthread_create(&a, NULL, count, arguments[1]);
    pthread_create(&b, NULL, count, arguments[2]);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return letters != 6;
}
