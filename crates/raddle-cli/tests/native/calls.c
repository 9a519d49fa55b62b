// Calls that must stay unchanged when `main` begins. Ends with 0 if they do.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

// The first three entries are not calls.
extern __attribute__((visibility("hidden"))) void *_GLOBAL_OFFSET_TABLE_[];

#if defined POINTER
// Not position-independent: the code that makes the call represents the function whose address is taken.
int main(void) {
    int (*volatile pointer)(const char *) = atoi;
    return pointer == atoi && pointer("1") + atoi("2") == 3 ? 0 : 1;
}
#elif defined OWN
static int own(const char *text) { return *text == '1' ? 42 : 0; }

// A constructor makes the only call lead to a function of the program itself.
__attribute__((constructor)) static void replace(void) { _GLOBAL_OFFSET_TABLE_[3] = (void *)own; }

int main(void) { return atoi("1") == 42 ? 0 : 1; }
#elif defined LIBRARY
int number(void) { return atoi("1"); }

// The target of its only call.
void *call(void) { return _GLOBAL_OFFSET_TABLE_[3]; }
#else
// A constructor loads a library, which may look up functions elsewhere than the program does.
static void *library;

__attribute__((constructor)) static void load(void) { library = dlopen(LOADED, RTLD_LAZY | RTLD_DEEPBIND); }

int main(void) {
    if (!library) return 1;
    void *(*call)(void) = (void *(*)(void))dlsym(library, "call");
    int (*number)(void) = (int (*)(void))dlsym(library, "number");
    Dl_info before, after;
    if (!dladdr(call(), &before) || number() != 1 || !dladdr(call(), &after)) return 2;
    return before.dli_fbase != after.dli_fbase ? 0 : 3;
}
#endif
