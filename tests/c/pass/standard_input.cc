// expect: pass
// points: sync
// build: c++
// What one thread writes is the standard input of another, and both use streams.
#include "../threads.h"
#include <cassert>
#include <iostream>
#include <string>
#include <thread>
#include <unistd.h>

static int ends[2], heard[2];

static void write_words() {
    FILE *out = fdopen(ends[1], "w");
    for (int i = 0; i < 3; i++) {
        fprintf(out, "%d word%d\n", i, i);
        must(fflush(out));
    }
    // It continues when the other one has received it.
    char byte;
    assert(read(heard[0], &byte, 1) == 1);
    fputs("the last line\nabc", out);
    must(fclose(out));
}

int main() {
    must(pipe(ends));
    must(pipe(heard));
    assert(dup2(ends[0], 0) == 0);
    must(close(ends[0]));
    std::thread writer(write_words);
    for (int i = 0; i < 3; i++) {
        int number;
        std::string word;
        assert(std::cin >> number >> word);
        assert(number == i && word == "word" + std::to_string(i));
    }
    assert(write(heard[1], "", 1) == 1);
    std::string line;
    assert(std::getline(std::cin, line) && line.empty());
    assert(std::getline(std::cin, line) && line == "the last line");
    char rest[4];
    assert(std::cin.read(rest, 3) && std::string(rest, 3) == "abc");
    assert(!std::cin.get(rest[0]) && std::cin.eof());
    writer.join();
    return 0;
}
