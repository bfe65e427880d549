// The program around an emulated kernel: arrays in on stdin, the kernel in one order, arrays out on stdout.
//
//   program ORDER < arrays > arrays          ORDER: 0 ascending, 1 descending, others shuffled by that seed
//
// An array is its number of bytes as u64, then the bytes, both little-endian. Inputs are read in the order in which
// the job asks for them; outputs are written in the order in which it asked for them. With -DSTRATA_METAL the kernel's
// Metal branch is compiled, through the stand-in for Apple's header.
//
//   #include "job.h"
//   #include "../src/gpu/leiden.cu"
//   static void run(Job& job) {
//       const Input<u32> offsets = job.input<u32>("offsets");
//       const LeidenShape shape = job.value<LeidenShape>("shape");
//       Output<u32> labels = job.output<u32>("labels", offsets[offsets.n() - 1]);
//       launch(n_blocks, 32, shared_bytes, [&] { CALL(leiden_documents, offsets.data(), labels.data(), shape); });
//   }
//   int main(int n, char** arguments) { return run_job(n, arguments, run); }
#pragma once

#include <sys/resource.h>

#include <string>

#if defined(STRATA_METAL)
#define __METAL_VERSION__ 300
#include "emulator.h"
#else
#include "cuda.h"
#endif
#include "../src/gpu/port.h"

#if defined(STRATA_METAL)
#define CALL(name, ...)                                                                                       \
    name(__VA_ARGS__, emulator::machine.current->warp->block->block_idx, emulator::machine.n_blocks,              \
         emulator::machine.current->thread_idx, emulator::machine.n_threads, emulator::machine.current->lane,     \
         emulator::machine.current->thread_idx / 32, (u32*)emulator::shared_memory())
#else
#define CALL(name, ...) name(__VA_ARGS__)
#endif

using emulator::launch;

enum : size_t { GUARD_BYTES = 64 };
enum : rlim_t { CPU_SECONDS_MAX = 1200 };

// An array of device memory: garbage at first. Under AddressSanitizer an access outside stops the program at once;
// without it a write just outside is found when the job ends.
struct Memory {
    std::string name;
    unsigned char* bytes = nullptr;
    size_t n_bytes = 0;
    bool written_out = false;

#if defined(STRATA_ASAN)
    static constexpr size_t guard = 0;
#else
    static constexpr size_t guard = GUARD_BYTES;
#endif

    Memory(std::string name, size_t n_bytes) : name(std::move(name)), n_bytes(n_bytes) {
        unsigned char* all = (unsigned char*)malloc(n_bytes + 2 * guard + (guard == 0 && n_bytes == 0));
        if (all == nullptr) emulator::broken(nullptr, "no memory for %zu bytes", n_bytes);
        memset(all, emulator::poison(), n_bytes + 2 * guard);
        bytes = all + guard;
    }
    Memory(const Memory&) = delete;
    ~Memory() { free(bytes - guard); }

    void check() const {
        for (size_t i = 0; i < guard; i++) {
            if (bytes[-(ptrdiff_t)i - 1] != emulator::poison() || bytes[n_bytes + i] != emulator::poison()) {
                emulator::broken(nullptr, "array `%s` of %zu bytes was written outside", name.c_str(), n_bytes);
            }
        }
    }
};

template <typename T>
struct Input {
    const T* at;
    size_t length;
    const T* data() const { return at; }
    size_t n() const { return length; }
    T operator[](size_t i) const {
        if (i >= length) emulator::broken(nullptr, "the job reads element %zu of %zu", i, length);
        return at[i];
    }
};

template <typename T>
struct Output {
    T* at;
    size_t length;
    T* data() { return at; }
    size_t n() const { return length; }
    T& operator[](size_t i) {
        if (i >= length) emulator::broken(nullptr, "the job writes element %zu of %zu", i, length);
        return at[i];
    }
    void fill(T value) {
        for (size_t i = 0; i < length; i++) at[i] = value;
    }
};

struct Job {
    std::vector<std::unique_ptr<Memory>> memories;

    Memory& memory(const char* name, size_t n_bytes) {
        memories.push_back(std::make_unique<Memory>(name, n_bytes));
        return *memories.back();
    }

    // The next array from stdin.
    template <typename T>
    Input<T> input(const char* name) {
        uint64_t n_bytes = 0;
        read(name, &n_bytes, sizeof n_bytes);
        if (n_bytes % sizeof(T) != 0) emulator::broken(nullptr, "input `%s` has a broken length", name);
        Memory& memory = this->memory(name, n_bytes);
        read(name, memory.bytes, n_bytes);
        return {(const T*)memory.bytes, n_bytes / sizeof(T)};
    }

    // The next array from stdin, of one element.
    template <typename T>
    T value(const char* name) {
        const Input<T> input = this->input<T>(name);
        if (input.n() != 1) emulator::broken(nullptr, "input `%s` is not one value", name);
        return input[0];
    }

    // An array that the kernel fills, garbage at first, written to stdout at the end.
    template <typename T>
    Output<T> output(const char* name, size_t n) {
        Output<T> work = this->work<T>(name, n);
        memories.back()->written_out = true;
        return work;
    }

    // An array that the kernel works with, garbage at first.
    template <typename T>
    Output<T> work(const char* name, size_t n) {
        return {(T*)memory(name, n * sizeof(T)).bytes, n};
    }

    static void read(const char* name, void* to, size_t n_bytes) {
        if (fread(to, 1, n_bytes, stdin) != n_bytes) emulator::broken(nullptr, "stdin ends within `%s`", name);
    }
};

inline int run_job(int n_arguments, char** arguments, void (*run)(Job&)) {
    // A kernel that never ends is killed in the end.
    const rlimit limit = {CPU_SECONDS_MAX, CPU_SECONDS_MAX};
    setrlimit(RLIMIT_CPU, &limit);
    if (n_arguments != 2) {
        fprintf(stderr, "usage: %s ORDER < arrays > arrays\n", arguments[0]);
        return 2;
    }
    emulator::set_order((unsigned)strtoul(arguments[1], nullptr, 10));
    Job job;
    run(job);
    for (const auto& memory : job.memories) memory->check();
    for (const auto& memory : job.memories) {
        if (!memory->written_out) continue;
        const uint64_t n_bytes = memory->n_bytes;
        fwrite(&n_bytes, sizeof n_bytes, 1, stdout);
        fwrite(memory->bytes, 1, n_bytes, stdout);
    }
    return fflush(stdout) == 0 ? 0 : 2;
}
