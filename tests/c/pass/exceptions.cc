// expect: pass
// points: sync
// build: c++
// Exceptions thrown in several threads at once, nested, and carried from one thread to another.
#include <cassert>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

static std::mutex mutex;
static int unwound;

struct Guard {
    ~Guard() {
        std::lock_guard<std::mutex> lock(mutex);
        unwound++;
    }
};

static void fail(int depth) {
    Guard guard;
    if (depth == 0) throw std::runtime_error("deep");
    try {
        fail(depth - 1);
    } catch (const std::runtime_error &) {
        std::lock_guard<std::mutex> lock(mutex);
        throw;
    }
}

int main() {
    std::exception_ptr carried[2];
    std::thread threads[2];
    for (int i = 0; i < 2; i++) {
        threads[i] = std::thread([&slot = carried[i]] {
            try {
                fail(2);
            } catch (...) {
                slot = std::current_exception();
            }
        });
    }
    for (auto &thread : threads) thread.join();
    for (auto &slot : carried) {
        try {
            std::rethrow_exception(slot);
        } catch (const std::exception &error) {
            assert(std::string(error.what()) == "deep");
        }
    }
    assert(unwound == 6);
}
