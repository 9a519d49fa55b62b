// expect: pass
// points: shared
// build: c++
// Waiting on atomics, latches, barriers and semaphores of C++20.
#include <atomic>
#include <barrier>
#include <cassert>
#include <latch>
#include <semaphore>
#include <thread>

static std::atomic<int> stage;
static std::latch started(2);
static std::counting_semaphore<4> permits(0);
static int data;

int main() {
    std::barrier meeting(2);
    std::thread other([&] {
        started.arrive_and_wait();
        stage.wait(0);
        assert(data == 1);
        data = 2;
        permits.release();
        meeting.arrive_and_wait();
    });
    started.arrive_and_wait();
    data = 1;
    stage = 1;
    stage.notify_all();
    permits.acquire();
    assert(data == 2);
    meeting.arrive_and_wait();
    other.join();
}
