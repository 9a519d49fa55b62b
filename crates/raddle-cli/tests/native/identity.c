// Becomes another user, if permitted, or stays the same one, while another thread is alive; that thread then has the new user too.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uid_t user;

static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    assert(geteuid() == user);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(int argc, char **argv) {
    pthread_t thread;
    user = getuid() == 0 ? 65534 : getuid();
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, work, NULL);
    assert(seteuid(user) == 0);
    if (getuid() == 0) assert(seteuid(0) == 0);
    assert(setresuid(user, user, user) == 0);
    if (user == 65534) assert(setuid(0) == -1);
    pthread_mutex_unlock(&lock);
    if (argc > 1 && !strcmp(argv[1], "late")) pthread_join(thread, NULL);
    assert(setuid(user) == 0);
    if (argc == 1) pthread_join(thread, NULL);
    return 0;
}
