// expect: use-after-free
// points: shared
// build: c++
// A listener is removed and freed while a copied list of listeners is notified.
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
#include <algorithm>
struct Listener { int seen = 0; virtual void notify(int n) { seen += n; } virtual ~Listener() = default; };
class Subject {
    std::mutex mutex_; std::vector<Listener *> listeners_;
public:
    void add(Listener *l) { std::lock_guard<std::mutex> g(mutex_); listeners_.push_back(l); }
    void remove(Listener *l) { std::lock_guard<std::mutex> g(mutex_); listeners_.erase(std::find(listeners_.begin(), listeners_.end(), l)); }
    void publish(int n) {
        std::vector<Listener *> copy;
        { std::lock_guard<std::mutex> g(mutex_); copy = listeners_; }
        for (auto *l : copy) l->notify(n);
    }
};
int main() {
    Subject s;
    auto listener = std::make_unique<Listener>();
    s.add(listener.get());
    std::thread publisher([&] { s.publish(1); });
    s.remove(listener.get());
    listener.reset();
    publisher.join();
}
