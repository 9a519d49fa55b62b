// A counter that is read and written separately, with a model: increments are lost.
#include <raddle/linearizable.h>
#include <atomic>

static std::atomic<long> counter;

static void make() { counter = 0; }
static long increment(long by) {
    long seen = counter;
    counter = seen + by;
    return seen;
}
static long model(void *state, const char *, long by) {
    long *value = static_cast<long *>(state), seen = *value;
    *value += by;
    return seen;
}

int main(int argc, char **argv) {
    raddle_structure(make);
    raddle_model(sizeof(long), model);
    raddle_operation_with("increment", increment, 1, 2);
    return raddle_linearizable(argc, argv);
}
