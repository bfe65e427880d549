// An emulated card for coloured.cu: takes memory and starts kernels as it is told, on stdin, until stdin ends.
//
//   program ORDER < requests > answers
//
// A request is a word and what follows, all little-endian; only READ is answered.
//   0 TAKE   n_bytes: u64, the bytes                memory number 0, 1, ...
//   1 READ   memory: u64, n_bytes: u64              answers the bytes
//   2 LAUNCH kernel, n_blocks, n_threads, shared_bytes, n_memories: u64 each, the memories: u64 each, the shape
//   3 GIVE   memory: u64                            checks its guards and gives it back
#include "job.h"
#include "../src/gpu/coloured.cu"

#include <map>

static std::map<u64, std::unique_ptr<Memory>> memories;
static u64 n_taken = 0;

static u64 number() {
    u64 value = 0;
    Job::read("a request", &value, sizeof value);
    return value;
}

static Memory& memory(u64 name) {
    const auto found = memories.find(name);
    if (found == memories.end()) emulator::broken(nullptr, "no memory %llu", name);
    return *found->second;
}

static std::vector<u64> names;
template <typename T>
static T* at(size_t i) {
    if (i >= names.size()) emulator::broken(nullptr, "a launch lacks memory %zu", i);
    return (T*)memory(names[i]).bytes;
}
static u32* words(size_t i) { return at<u32>(i); }
static i64* longs(size_t i) { return at<i64>(i); }
static u64* sums(size_t i) { return at<u64>(i); }

static void call(u64 kernel, const ColouredShape& shape) {
    switch (kernel) {
    case 0: return CALL(coloured_pick, words(0), words(1), words(2), words(3), words(4), shape);
    case 1: return CALL(coloured_give, words(0), words(1), words(2), shape);
    case 2: return CALL(coloured_lose, words(0), words(1), words(2), words(3), words(4), shape);
    case 3: return CALL(coloured_keep, words(0), words(1), words(2), words(3), shape);
    case 4: return CALL(coloured_masses, words(0), longs(1), sums(2), shape);
    case 5:
        return CALL(coloured_choose, words(0), words(1), words(2), longs(3), words(4), words(5), longs(6), sums(7),
                    sums(8),
                               words(9), words(10), longs(11), longs(12), shape);
    case 6:
        return CALL(coloured_choose_hubs, words(0), words(1), words(2), longs(3), words(4), words(5), longs(6),
                    sums(7), sums(8),
                                    words(9), words(10), longs(11), longs(12), words(13), shape);
    case 7:
        return CALL(coloured_hold, longs(0), words(1), words(2), longs(3), longs(4), longs(5), words(6), longs(7),
                    longs(8),
                             words(9), shape);
    case 8:
        return CALL(coloured_move, words(0), words(1), longs(2), words(3), words(4), words(5), sums(6), sums(7),
                    sums(8), words(9),
                             words(10), words(11), shape);
    case 9: return CALL(coloured_cut, words(0), words(1), words(2), words(3), longs(4), shape);
    case 10:
        return CALL(coloured_choose_part, words(0), words(1), words(2), longs(3), words(4), words(5), longs(6),
                    words(7), longs(8),
                                    longs(9), words(10), sums(11), words(12), longs(13), shape);
    case 11:
        return CALL(coloured_choose_part_hubs, words(0), words(1), words(2), longs(3), words(4), words(5), longs(6),
                    words(7),
                                         longs(8), longs(9), words(10), sums(11), words(12), longs(13), words(14),
                                         shape);
    case 12: return CALL(coloured_hold_part, longs(0), words(1), longs(2), longs(3), words(4), longs(5), words(6),
    shape);
    case 13:
        return CALL(coloured_join, longs(0), words(1), words(2), longs(3), words(4), sums(5), sums(6), words(7),
                    sums(8), words(9),
                             shape);
    default: emulator::broken(nullptr, "no kernel %llu", kernel);
    }
}

static void start() {
    const u64 kernel = number(), n_blocks = number(), n_threads = number(), shared_bytes = number();
    names.resize(number());
    for (u64& name : names) name = number();
    ColouredShape shape;
    Job::read("a shape", &shape, sizeof shape);
    launch((unsigned)n_blocks, (unsigned)n_threads, (unsigned)shared_bytes, [&] { call(kernel, shape); });
}

int main(int n_arguments, char** arguments) {
    const rlimit limit = {CPU_SECONDS_MAX, CPU_SECONDS_MAX};
    setrlimit(RLIMIT_CPU, &limit);
    if (n_arguments != 2) return 2;
    emulator::set_order((unsigned)strtoul(arguments[1], nullptr, 10));
    u32 request = 0;
    while (fread(&request, sizeof request, 1, stdin) == 1) {
        if (request == 0) {
            auto taken = std::make_unique<Memory>("memory " + std::to_string(n_taken), number());
            Job::read("memory", taken->bytes, taken->n_bytes);
            memories[n_taken++] = std::move(taken);
        } else if (request == 1) {
            Memory& from = memory(number());
            const u64 n_bytes = number();
            if (n_bytes > from.n_bytes) emulator::broken(nullptr, "`%s` is read past its end", from.name.c_str());
            fwrite(from.bytes, 1, n_bytes, stdout);
            if (fflush(stdout) != 0) return 2;
        } else if (request == 2) {
            start();
        } else if (request == 3) {
            const u64 name = number();
            memory(name).check();
            memories.erase(name);
        } else {
            emulator::broken(nullptr, "no request %u", request);
        }
    }
    for (const auto& left : memories) left.second->check();
    return 0;
}
