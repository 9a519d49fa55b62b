// expect: pass
// points: shared
// build: c++
// options: --races fail
// Writes under std::call_once are ordered before every call that returns, even a late one.
#include <cassert>
#include <mutex>
#include <thread>

static std::once_flag once;
static int value;

static void use() {
    std::call_once(once, [] { value = 42; });
    assert(value == 42);
    std::call_once(once, [] { value = 43; });
    assert(value == 42);
}

int main() {
    std::thread a(use), b(use), c(use);
    a.join();
    b.join();
    c.join();
}
