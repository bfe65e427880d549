// Runs one launch as the host's side asks for it: the kernel's name, its grid, then its arguments in their order.
//
// Every memory is written out again, whether the kernel changed it or not. Kernels are called with the lengths that
// the host gave their memories, so a host that gives too little is found.
#include <string.h>

#include "job.h"
#include "../src/gpu/leiden.cu"
#include "../src/gpu/nearest.cu"

struct Grid {
    u32 n_blocks, n_threads, shared_bytes;
};

struct Arguments {
    std::vector<Memory*> all;

    Memory& at(size_t i) const {
        if (i >= all.size()) emulator::broken(nullptr, "argument %zu of %zu", i, all.size());
        return *all[i];
    }
    template <typename T>
    T* memory(size_t i) const {
        return (T*)at(i).bytes;
    }
    template <typename T>
    T value(size_t i) const {
        if (at(i).n_bytes != sizeof(T)) emulator::broken(nullptr, "argument %zu has %zu bytes", i, at(i).n_bytes);
        T value;
        memcpy(&value, at(i).bytes, sizeof value);
        return value;
    }
};

static bool nearest_kernels(const std::string& name, Grid grid, const Arguments& a) {
    const auto go = [&](auto body) { launch(grid.n_blocks, grid.n_threads, grid.shared_bytes, body); };
    if (name == "link_rows_64" || name == "link_rows_128") {
        const LinkShape shape = a.value<LinkShape>(6);
        const float *rows = a.memory<float>(0), *bonus = a.memory<float>(3);
        const u32 *offsets = a.memory<u32>(1), *tiles = a.memory<u32>(2);
        u64* best = a.memory<u64>(4);
        u32* counts = a.memory<u32>(5);
        if (name == "link_rows_64") {
            go([&] { CALL(link_rows_64, rows, offsets, tiles, bonus, best, counts, shape); });
        } else {
            go([&] { CALL(link_rows_128, rows, offsets, tiles, bonus, best, counts, shape); });
        }
    } else if (name == "link_medians") {
        const MedianShape shape = a.value<MedianShape>(2);
        go([&] { CALL(link_medians, a.memory<u32>(0), a.memory<i32>(1), shape); });
    } else if (name == "nearest_rows_64" || name == "nearest_rows_128") {
        const NearestShape shape = a.value<NearestShape>(3);
        const float *queries = a.memory<float>(0), *rows = a.memory<float>(1);
        u64* best = a.memory<u64>(2);
        if (name == "nearest_rows_64") {
            go([&] { CALL(nearest_rows_64, queries, rows, best, shape); });
        } else {
            go([&] { CALL(nearest_rows_128, queries, rows, best, shape); });
        }
    } else if (name == "merge_best") {
        const MergeShape shape = a.value<MergeShape>(2);
        go([&] { CALL(merge_best, a.memory<u64>(0), a.memory<u64>(1), shape); });
    } else {
        return false;
    }
    return true;
}

static bool leiden_kernels(const std::string& name, Grid grid, const Arguments& a) {
    if (name != "leiden_documents") return false;
    const LeidenShape shape = a.value<LeidenShape>(7);
    launch(grid.n_blocks, grid.n_threads, grid.shared_bytes, [&] {
        CALL(leiden_documents, a.memory<u32>(0), a.memory<u32>(1), a.memory<u32>(2), a.memory<u16>(3), a.memory<i32>(4),
             a.memory<i64>(5), a.memory<u16>(6), shape);
    });
    return true;
}

static void run(Job& job) {
    const Input<char> letters = job.input<char>("kernel");
    const std::string name(letters.data(), letters.n());
    const Grid grid = job.value<Grid>("grid");
    const Input<u8> is_memory = job.input<u8>("kinds");
    Arguments arguments;
    for (size_t i = 0; i < is_memory.n(); i++) {
        job.input<u8>("argument");
        arguments.all.push_back(job.memories.back().get());
        arguments.all.back()->written_out = is_memory[i] != 0;
    }
    if (!nearest_kernels(name, grid, arguments) && !leiden_kernels(name, grid, arguments)) {
        emulator::broken(nullptr, "no kernel `%s`", name.c_str());
    }
}

int main(int n, char** arguments) { return run_job(n, arguments, run); }
