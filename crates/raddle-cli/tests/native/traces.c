// Makes a change that cannot be undone after a run, and exits with 1 if an earlier run has made it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *early;

__attribute__((constructor)) static void begin(void) {
    early = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void is_fresh(int fresh) {
    if (!fresh) _exit(1);
}

static int is_open(int file) {
    return fcntl(file, F_GETFD) >= 0;
}

int main(int count, char **words) {
    const char *change = words[count - 1];
    if (!strcmp(change, "umask")) {
        is_fresh(umask(0123) != 0123);
    } else if (!strcmp(change, "directory")) {
        char here[4096];
        is_fresh(getcwd(here, sizeof here) && strcmp(here, "/"));
        is_fresh(chdir("/") == 0);
    } else if (!strcmp(change, "unmap")) {
        is_fresh(msync(early, 4096, MS_ASYNC) == 0);
        munmap(early, 8192);
    } else if (!strcmp(change, "descriptor")) {
        is_fresh(!is_open(77));
        is_fresh(dup2(1, 77) == 77);
    } else if (!strcmp(change, "limit")) {
        struct rlimit limit;
        getrlimit(RLIMIT_CORE, &limit);
        is_fresh(limit.rlim_max != 4096);
        limit.rlim_cur = limit.rlim_max = 4096;
        setrlimit(RLIMIT_CORE, &limit);
    } else if (!strcmp(change, "name")) {
        char name[16];
        prctl(PR_GET_NAME, name);
        is_fresh(strcmp(name, "changed"));
        prctl(PR_SET_NAME, "changed");
    } else if (!strcmp(change, "instruction")) {
        // Not a call of the C library.
        long former;
        __asm__ volatile("syscall" : "=a"(former) : "a"(SYS_umask), "D"(0123) : "rcx", "r11", "memory");
        is_fresh(former != 0123);
    } else if (!strcmp(change, "fork")) {
        int process = fork();
        if (process == 0) _exit(0);
        waitpid(process, NULL, 0);
    }
    return 0;
}
