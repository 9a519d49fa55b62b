// expect: pass
// points: sync
// build: c++
// A function's static is initialized once; after an exception the next thread tries again.
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> attempts;

struct Value {
    int number;
    Value() : number(0) {
        if (attempts++ == 0) throw 1;
        number = 42;
    }
};

static int get() {
    static Value value;
    return value.number;
}

static void use() {
    try {
        assert(get() == 42);
    } catch (int) {
        assert(get() == 42);
    }
}

int main() {
    std::thread a(use), b(use), c(use);
    a.join();
    b.join();
    c.join();
    assert(attempts == 2);
}
