// Counts the words of a file with std::async, one task for each part, and prints the most common ones.
#include <algorithm>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

using Counts = std::map<std::string, int>;

static std::mutex mutex;
static long total;

static Counts count(const std::vector<std::string> &words, size_t from, size_t to) {
    Counts counts;
    for (size_t i = from; i < to; i++) {
        counts[words[i]]++;
    }
    std::lock_guard<std::mutex> lock(mutex);
    total += to - from;
    return counts;
}

int main(int, char **argv) {
    std::ifstream file(argv[1]);
    std::vector<std::string> words;
    for (std::string word; file >> word;) {
        words.push_back(word);
    }
    const size_t parts = 6;
    std::vector<std::future<Counts>> tasks;
    for (size_t i = 0; i < parts; i++) {
        tasks.push_back(std::async(std::launch::async, count, std::cref(words), words.size() * i / parts,
                                   words.size() * (i + 1) / parts));
    }
    Counts all;
    for (auto &task : tasks) {
        for (auto &[word, times] : task.get()) {
            all[word] += times;
        }
    }
    std::vector<std::pair<int, std::string>> sorted;
    for (auto &[word, times] : all) {
        sorted.emplace_back(times, word);
    }
    std::sort(sorted.rbegin(), sorted.rend());
    std::cout << total << " words\n";
    for (size_t i = 0; i < 20 && i < sorted.size(); i++) {
        std::cout << sorted[i].first << ' ' << sorted[i].second << '\n';
    }
}
