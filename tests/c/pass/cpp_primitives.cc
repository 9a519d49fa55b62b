// expect: pass
// points: sync
// build: c++
// options: --timeouts idle
// The locks and conditions of C++: timed, shared, scoped, waits with a limit, call_once with an exception.
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

using namespace std::chrono_literals;

static std::timed_mutex timed;
static std::shared_mutex shared;
static std::recursive_mutex nested;
static std::mutex mutex, other;
static std::condition_variable changed;
static std::condition_variable_any any;
static std::once_flag once;
static int made, stage, value;

static void make() {
    if (made++ == 0) throw 1;
}

static void work() {
    try {
        std::call_once(once, make);
    } catch (int) {
        std::call_once(once, make);
    }
    {
        std::unique_lock<std::timed_mutex> lock(timed, 1000s);
        assert(lock.owns_lock());
    }
    {
        std::unique_lock<std::shared_mutex> lock(shared);
        value++;
    }
    {
        std::scoped_lock both(mutex, other);
        std::lock_guard<std::recursive_mutex> outer(nested);
        std::lock_guard<std::recursive_mutex> inner(nested);
        stage++;
    }
    changed.notify_all();
    any.notify_one();
}

int main() {
    timed.lock();
    std::thread blocked([] { assert(!timed.try_lock_for(10us)); });
    blocked.join();
    timed.unlock();
    std::thread a(work), b(work);
    {
        std::unique_lock<std::mutex> lock(mutex);
        assert(!changed.wait_for(lock, 10us, [] { return stage > 2; }));
        changed.wait(lock, [] { return stage == 2; });
        assert(any.wait_for(lock, 1000s, [] { return stage == 2; }));
    }
    a.join();
    b.join();
    std::shared_lock<std::shared_mutex> lock(shared);
    assert(value == 2 && made == 2);
}
