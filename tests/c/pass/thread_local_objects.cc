// expect: pass
// points: sync
// build: c++
// Thread-local objects are constructed at their first use and destroyed at the end of their thread.
#include <atomic>
#include <cassert>
#include <string>
#include <thread>

static std::atomic<int> made, destroyed;

struct Object {
    std::string text = "own";
    Object() { made++; }
    ~Object() {
        assert(text == "own and more");
        destroyed++;
    }
};
static thread_local Object object;

static void use() {
    object.text += " and more";
    assert(object.text == "own and more");
}

int main() {
    std::thread a(use), b(use), idle([] {});
    a.join();
    b.join();
    idle.join();
    assert(made == 2 && destroyed == 2);
}
