// expect: pass
// points: sync
// build: c++
// std::async, promises, packaged tasks and shared futures.
#include <cassert>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

int main() {
    auto sum = std::async(std::launch::async, [] { return 20 + 22; });
    auto lazy = std::async(std::launch::deferred, [] { return 1; });
    auto failing = std::async(std::launch::async, []() -> int { throw std::runtime_error("no"); });
    std::promise<int> promise;
    std::shared_future<int> shared = promise.get_future().share();
    auto doubled = std::async(std::launch::async, [shared] { return 2 * shared.get(); });
    assert(shared.wait_for(std::chrono::microseconds(1)) == std::future_status::timeout);
    promise.set_value(7);
    std::packaged_task<int(int)> task([](int x) { return x + 1; });
    auto next = task.get_future();
    std::thread runner(std::move(task), 5);
    assert(sum.get() == 42 && lazy.get() == 1 && doubled.get() == 14 && next.get() == 6);
    bool thrown = false;
    try {
        failing.get();
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    assert(thrown);
    runner.join();
}
