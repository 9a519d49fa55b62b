// expect: pass
// points: shared
// build: c++
// options: --races fail
// The value of a function's static is written before any thread reads it, with or without a wait.
#include <cassert>
#include <thread>

struct Pair {
    int first, second;
    Pair(int number) : first(number), second(number + 1) {}
};

static const Pair &get(int number) {
    static Pair pair(number);
    return pair;
}

static void use(int number) {
    const Pair &pair = get(number);
    assert(pair.second == pair.first + 1);
    assert(get(0).first == pair.first);
}

int main() {
    std::thread a(use, 1), b(use, 2), c(use, 3);
    a.join();
    b.join();
    c.join();
}
