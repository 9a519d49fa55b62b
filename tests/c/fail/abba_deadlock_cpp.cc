// expect: deadlock
// points: sync
// build: c++
// The AB-BA deadlock with std::thread and std::lock_guard.
#include <mutex>
#include <thread>

static std::mutex first, second;
static int moved;

int main() {
    std::thread other([] {
        std::lock_guard<std::mutex> outer(second);
        std::lock_guard<std::mutex> inner(first);
        moved++;
    });
    {
        std::lock_guard<std::mutex> outer(first);
        std::lock_guard<std::mutex> inner(second);
        moved++;
    }
    other.join();
    return moved == 2 ? 0 : 1;
}
