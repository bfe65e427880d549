// Runs a kernel's source on the processor: one fiber a thread, blocks of warps of 32, in any order asked for.
//
// It answers one question: does the result depend on an order that the device does not promise? So the order of
// threads, warps and blocks is an argument; shared memory and outputs start as garbage that differs by order; and in
// the shuffled orders a thread may lose its turn at any atomic. A barrier that not all threads reach, a shuffle from
// a lane that is gone, and lanes that meet at different operations are reported with block and thread, exit code 70.
// It cannot show speed, bank conflicts or missing fences, nor a race in which no order of whole segments between
// syncs and atomics changes the result.
//
// Lanes meet thus: each leaves its value and switches to the next lane that can run; the last one works out all
// answers. So an operation of a warp costs 33 switches of a few nanoseconds and no scheduler.
#pragma once

#include <cmath>
#include <cstdarg>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "fibers.h"

namespace emulator {

enum : unsigned { WARP = 32, RESIDENT_SHUFFLED = 3, EXIT_BROKEN = 70 };
enum class Op : uint8_t { None, Sync, Ballot, Read };

struct Block;
struct Warp;

struct Thread {
    fibers::Fiber* fiber = nullptr;
    Warp* warp = nullptr;
    unsigned thread_idx = 0;
    unsigned lane = 0;
    unsigned turn = 0;  // its place in the warp's order
    int barrier_line = 0;
};

struct Warp {
    Block* block = nullptr;
    unsigned first = 0;     // thread
    uint32_t present = 0;   // lanes at launch
    uint32_t exited = 0;    // lanes
    uint32_t arrived = 0;   // lanes that wait for others of their warp
    uint32_t waiting = 0;   // lanes at the block's barrier
    uint32_t runnable = 0;  // turns, not lanes
    uint32_t votes = 0;     // lanes that arrived with a value other than 0
    bool alike = false;     // all that arrived name the whole warp and the same operation
    Thread* thread_at[WARP];  // by turn
    Op first_op = Op::None;
    Op op[WARP];
    uint32_t mask[WARP];
    uint64_t value[WARP];
    uint32_t source[WARP];
    uint64_t answer[WARP];
};

struct Block {
    unsigned block_idx = 0;
    unsigned n_live = 0;
    unsigned n_waiting = 0;
    bool running = false;
    std::vector<Warp> warps;
    std::vector<std::unique_ptr<Thread>> threads;
    std::vector<unsigned> warp_order;
    unsigned char* shared = nullptr;
};

struct Machine {
    Thread* current = nullptr;
    bool shuffled = false;
    uint64_t random = 0;
    unsigned n_blocks = 0, n_threads = 0;
    size_t shared_bytes = 0;
    unsigned seed = 0;
    std::vector<unsigned> block_order;
    unsigned block_next = 0;
    std::vector<std::unique_ptr<Block>> resident;
    void (*body)(void*) = nullptr;
    void* body_context = nullptr;
    uint64_t n_switches = 0;
};
inline Machine machine;
inline Thread thread_itself;  // stands for the program outside any kernel

inline uint64_t next_random() {
    uint64_t& x = machine.random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x * 0x2545F4914F6CDD1Dull >> 20;
}

// Garbage that differs by order, so that a result that depends on it differs too.
inline unsigned char poison() {
    static const unsigned char bytes[] = {0xA5, 0x5B, 0xFF, 0x7E, 0x80, 0x01};
    return bytes[machine.seed % sizeof bytes];
}

inline void print_lanes(const char* what, const Warp& warp, uint32_t lanes) {
    if (lanes == 0) return;
    fprintf(stderr, "emulator:   %s: threads", what);
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (lanes >> lane & 1) fprintf(stderr, " %u", warp.first + lane);
    }
    fprintf(stderr, "\n");
}

inline void print_block(const Block& block) {
    for (const Warp& warp : block.warps) {
        const uint32_t others = warp.present & ~(warp.exited | warp.arrived | warp.waiting);
        print_lanes("at the block's barrier", warp, warp.waiting);
        print_lanes("wait for lanes of their warp", warp, warp.arrived);
        print_lanes("have exited", warp, warp.exited);
        print_lanes("can run", warp, others);
    }
}

[[noreturn]] inline void broken(const Block* block, const char* format, ...) {
    fprintf(stderr, "emulator: ");
    if (block != nullptr) fprintf(stderr, "block %u of %u: ", block->block_idx, machine.n_blocks);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, " (order %u)\n", machine.seed);
    if (block != nullptr) print_block(*block);
    fflush(stderr);
    _Exit(EXIT_BROKEN);
}

inline void go_to(Thread& next) {
    Thread& self = *machine.current;
    if (&self == &next) return;
    machine.current = &next;
    machine.n_switches++;
    fibers::switch_to(*self.fiber, *next.fiber);
}

// A lane of `warp` that can run: the next by turn after `turn`, or the first.
inline Thread& pick(Warp& warp, unsigned turn) {
    const uint32_t after = warp.runnable & ~((2u << turn) - 1);
    const unsigned next = (unsigned)__builtin_ctz(after != 0 ? after : warp.runnable);
    return *warp.thread_at[next];
}

inline Thread& pick_first(Warp& warp) {
    return pick(warp, machine.shuffled ? (unsigned)next_random() % WARP : WARP - 1);
}

inline void report_deadlock() {
    for (const auto& block : machine.resident) {
        if (block->running) broken(block.get(), "deadlock: no thread can run");
    }
    broken(nullptr, "deadlock with no block running");
}

// Goes on with any warp that can run; the program itself when every block is done.
inline void go_elsewhere(const Warp* from) {
    const size_t n_resident = machine.resident.size();
    const size_t start = machine.shuffled ? next_random() % n_resident : 0;
    bool running = false;
    for (size_t i = 0; i < n_resident; i++) {
        Block& block = *machine.resident[(start + i) % n_resident];
        if (!block.running) continue;
        running = true;
        const size_t n = block.warps.size();
        const size_t first = machine.shuffled ? next_random() % n : 0;
        for (size_t k = 0; k < n; k++) {
            Warp& warp = block.warps[block.warp_order[(first + k) % n]];
            if (warp.runnable != 0 && &warp != from) return go_to(pick_first(warp));
        }
    }
    if (running) report_deadlock();
    go_to(thread_itself);
}

inline void go_on(Thread& self) {
    Warp& warp = *self.warp;
    if (warp.runnable != 0) {
        go_to(pick(warp, self.turn));
    } else {
        go_elsewhere(nullptr);
    }
}

inline uint32_t turns_of(const Block& block, const Warp& warp, uint32_t lanes) {
    if (lanes == warp.present) return lanes == ~0u ? ~0u : (1u << __builtin_popcount(lanes)) - 1;
    uint32_t turns = 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        turns |= 1u << block.threads[warp.first + (unsigned)__builtin_ctz(rest)]->turn;
    }
    return turns;
}

// Reports lanes of `wanted` that came with another operation or mask than `lane`.
inline void check_alike(const Warp& warp, unsigned lane, uint32_t wanted) {
    for (uint32_t rest = wanted; rest != 0; rest &= rest - 1) {
        const unsigned other = (unsigned)__builtin_ctz(rest);
        if (warp.mask[other] != warp.mask[lane] || warp.op[other] != warp.op[lane]) {
            broken(warp.block, "threads %u and %u of a warp meet at different operations or masks",
                   warp.first + lane, warp.first + other);
        }
    }
}

// Works out the answers if every lane that `lane` waits for has arrived; lanes that have exited are not waited for.
inline bool complete(Warp& warp, unsigned lane) {
    const uint32_t wanted = warp.mask[lane] & warp.present & ~warp.exited;
    if ((warp.arrived & wanted) != wanted) return false;
    if (!warp.alike) check_alike(warp, lane, wanted);
    if (warp.op[lane] == Op::Ballot) {
        const uint32_t ballot = warp.votes & wanted;
        for (unsigned other = 0; other < WARP; other++) {
            if ((wanted >> other & 1) != 0) warp.answer[other] = ballot;
        }
    } else if (warp.op[lane] == Op::Read) {
        for (uint32_t rest = wanted; rest != 0; rest &= rest - 1) {
            const unsigned other = (unsigned)__builtin_ctz(rest), source = warp.source[other];
            if (source >= WARP || (wanted >> source & 1) == 0) {
                broken(warp.block, "thread %u reads from lane %u, which has exited or takes no part",
                       warp.first + other, source);
            }
            warp.answer[other] = warp.value[source];
        }
    }
    warp.arrived &= ~wanted;
    warp.runnable |= turns_of(*warp.block, warp, wanted);
    return true;
}

// Meets the other lanes of `mask` and gives this lane's answer.
inline uint64_t meet(Op op, uint32_t mask, uint64_t value, unsigned source) {
    Thread& self = *machine.current;
    Warp& warp = *self.warp;
    const unsigned lane = self.lane;
    if ((mask >> lane & 1) == 0) broken(warp.block, "thread %u is not in the mask it gives", self.thread_idx);
    if (warp.arrived == 0) {
        warp.votes = 0;
        warp.alike = true;
        warp.first_op = op;
    }
    warp.alike &= op == warp.first_op && mask == ~0u;
    const uint32_t own = 1u << lane;
    warp.votes = (warp.votes & ~own) | (value != 0 ? own : 0);
    warp.op[lane] = op;
    warp.mask[lane] = mask;
    warp.value[lane] = value;
    warp.source[lane] = source;
    warp.arrived |= own;
    warp.runnable &= ~(1u << self.turn);
    if (complete(warp, lane)) {
        go_to(pick_first(warp));
    } else {
        go_on(self);
    }
    return warp.answer[lane];
}

inline void release_barrier(Block& block) {
    int line = 0;
    for (Warp& warp : block.warps) {
        for (uint32_t rest = warp.waiting; rest != 0; rest &= rest - 1) {
            const Thread& thread = *block.threads[warp.first + (unsigned)__builtin_ctz(rest)];
            if (line != 0 && thread.barrier_line != line) {
                broken(&block, "threads wait at different barriers: lines %d and %d", line, thread.barrier_line);
            }
            line = thread.barrier_line;
        }
    }
    block.n_waiting = 0;
    for (Warp& warp : block.warps) {
        warp.runnable |= turns_of(block, warp, warp.waiting);
        warp.waiting = 0;
    }
}

inline void barrier(int line) {
    Thread& self = *machine.current;
    Warp& warp = *self.warp;
    Block& block = *warp.block;
    self.barrier_line = line;
    warp.waiting |= 1u << self.lane;
    warp.runnable &= ~(1u << self.turn);
    block.n_waiting++;
    if (block.n_waiting < block.n_live) return go_on(self);
    if (block.n_live < machine.n_threads) broken(&block, "a barrier that not all threads reach, line %d", line);
    release_barrier(block);
    go_elsewhere(nullptr);
}

// In the shuffled orders, lets another thread of any warp go first now and then.
inline void atomic_point() {
    if (!machine.shuffled || (next_random() & 3) != 0) return;
    Thread& self = *machine.current;
    if ((next_random() & 1) != 0) return go_on(self);
    go_elsewhere(nullptr);
}

inline void shuffle(std::vector<unsigned>& order) {
    for (size_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[next_random() % i]);
}

// 0 ascending, 1 descending, others shuffled.
inline std::vector<unsigned> ordered(unsigned n, unsigned seed) {
    std::vector<unsigned> order(n);
    for (unsigned i = 0; i < n; i++) order[i] = seed == 1 ? n - 1 - i : i;
    if (seed > 1) shuffle(order);
    return order;
}

// Starts the next block of the grid in the place of `block`, if there is one.
inline void start_next(Block& block) {
    block.running = machine.block_next < machine.n_blocks;
    if (!block.running) return;
    block.block_idx = machine.block_order[machine.block_next++];
    block.n_live = machine.n_threads;
    block.n_waiting = 0;
    if (block.shared != nullptr) memset(block.shared, poison(), machine.shared_bytes);
    if (machine.shuffled) shuffle(block.warp_order);
    for (Warp& warp : block.warps) {
        warp.exited = warp.arrived = warp.waiting = 0;
        const unsigned n_lanes = (unsigned)__builtin_popcount(warp.present);
        const std::vector<unsigned> lanes = ordered(n_lanes, machine.seed);
        for (unsigned turn = 0; turn < n_lanes; turn++) {
            Thread& thread = *block.threads[warp.first + lanes[turn]];
            warp.thread_at[turn] = &thread;
            thread.turn = turn;
        }
        warp.runnable = turns_of(block, warp, warp.present);
    }
}

inline void exit_thread() {
    Thread& self = *machine.current;
    Warp& warp = *self.warp;
    Block& block = *warp.block;
    warp.exited |= 1u << self.lane;
    warp.runnable &= ~(1u << self.turn);
    block.n_live--;
    if (block.n_live > 0 && block.n_waiting == block.n_live) {
        broken(&block, "a barrier that not all threads reach: thread %u has exited", self.thread_idx);
    }
    // Those that wait for lanes of the warp wait no longer for this one.
    for (unsigned lane = 0; lane < WARP; lane++) {
        if ((warp.arrived >> lane & 1) != 0) complete(warp, lane);
    }
    if (block.n_live == 0) {
        start_next(block);
        return go_elsewhere(nullptr);
    }
    go_on(self);
}

[[noreturn]] inline void thread_main() {
    for (;;) {
        machine.body(machine.body_context);
        exit_thread();  // returns when this fiber is a thread of another block
    }
}

// Fibers between launches: each stands in `thread_main` and goes on as any thread of any block.
inline std::vector<fibers::Fiber*> idle_fibers;
inline std::vector<std::unique_ptr<fibers::Fiber>> all_fibers;

inline fibers::Fiber* take_fiber() {
    if (idle_fibers.empty()) {
        all_fibers.push_back(std::make_unique<fibers::Fiber>());
        idle_fibers.push_back(all_fibers.back().get());
        fibers::create(*idle_fibers.back());
    }
    fibers::Fiber* fiber = idle_fibers.back();
    idle_fibers.pop_back();
    return fiber;
}

inline std::unique_ptr<Block> make_block() {
    auto block = std::make_unique<Block>();
    const unsigned n = machine.n_threads;
    block->warps.resize((n + WARP - 1) / WARP);
    block->warp_order = ordered((unsigned)block->warps.size(), machine.seed == 1 ? 1 : 0);
    for (unsigned i = 0; i < n; i++) {
        block->threads.push_back(std::make_unique<Thread>());
        Thread& thread = *block->threads.back();
        Warp& warp = block->warps[i / WARP];
        thread.thread_idx = i;
        thread.lane = i % WARP;
        thread.warp = &warp;
        warp.block = block.get();
        warp.first = i - i % WARP;
        warp.present |= 1u << thread.lane;
        thread.fiber = take_fiber();
    }
    if (machine.shared_bytes > 0) block->shared = (unsigned char*)malloc(machine.shared_bytes);
    return block;
}

inline void release(Block& block) {
    for (auto& thread : block.threads) idle_fibers.push_back(thread->fiber);
    free(block.shared);
}

// The block's shared memory.
inline void* shared_memory() { return machine.current->warp->block->shared; }

// Sets the order of everything that follows: 0 ascending, 1 descending, others shuffled by that seed.
inline void set_order(unsigned seed) {
    machine.seed = seed;
    machine.shuffled = seed > 1;
    machine.random = 0x9E3779B97F4A7C15ull * (seed + 1);
}

// Runs `body` as `n_blocks` blocks of `n_threads` threads, each block with `shared_bytes` of shared memory.
template <typename Body>
void launch(unsigned n_blocks, unsigned n_threads, size_t shared_bytes, Body&& body) {
    if (n_threads == 0 || n_threads > 1024) broken(nullptr, "a block of %u threads", n_threads);
    machine.n_blocks = n_blocks;
    machine.n_threads = n_threads;
    machine.shared_bytes = shared_bytes;
    machine.body = [](void* context) { (*(std::remove_reference_t<Body>*)context)(); };
    machine.body_context = (void*)&body;
    machine.block_order = ordered(n_blocks, machine.seed);
    machine.block_next = 0;
    static fibers::Fiber home;
    thread_itself.fiber = fibers::home = &home;
    fibers::fiber_main = thread_main;
    const unsigned n_resident = machine.shuffled && RESIDENT_SHUFFLED < n_blocks ? (unsigned)RESIDENT_SHUFFLED : 1;
    for (unsigned i = 0; i < n_resident; i++) {
        machine.resident.push_back(make_block());
        start_next(*machine.resident.back());
    }
    if (n_blocks > 0) {
        machine.current = &thread_itself;
        go_elsewhere(nullptr);
    }
    for (auto& block : machine.resident) release(*block);
    machine.resident.clear();
}

}  // namespace emulator
