// Message passing through each kind of std::atomic; without RIGHT nothing orders the message before the flag.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <thread>

#ifdef RIGHT
constexpr auto publish = std::memory_order_release;
#else
constexpr auto publish = std::memory_order_relaxed;
#endif

std::atomic<std::int64_t> message;
std::atomic<bool> flag;
std::atomic<std::uint16_t> number;
std::atomic<std::atomic<std::int64_t> *> pointer;
std::atomic_flag busy = ATOMIC_FLAG_INIT;

static void send(int way) {
    message.store(7, std::memory_order_relaxed);
    std::uint16_t expected = 0;
    switch (way) {
    case 0: flag.store(true, publish); break;
    case 1: flag.exchange(true, publish); break;
    case 2: number.fetch_add(1, publish); break;
    case 3: number.compare_exchange_strong(expected, 1, publish, std::memory_order_relaxed); break;
    case 4: pointer.store(&message, publish); break;
    case 5: busy.test_and_set(publish); break;
    case 6:
#ifdef RIGHT
        std::atomic_thread_fence(std::memory_order_release);
#endif
        flag.store(true, std::memory_order_relaxed);
        break;
    }
}

static bool received(int way) {
    switch (way) {
    case 2:
    case 3: return number.load(std::memory_order_acquire) == 1;
    case 4: return pointer.load(std::memory_order_acquire) != nullptr;
    case 5: return busy.test_and_set(std::memory_order_acquire);
    default: return flag.load(std::memory_order_acquire);
    }
}

int main(int, char **arguments) {
    int way = arguments[1][0] - '0';
    std::thread sender(send, way);
    if (received(way))
        assert(message.load(std::memory_order_relaxed) == 7);
    sender.join();
}
