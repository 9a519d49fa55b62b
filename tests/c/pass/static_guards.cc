// expect: pass
// points: sync
// build: c++
// A static of a function is made once; a maker that throws leaves it to the next one.
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
