// Small kernels with a fault, each beside the sound one: the tests hold that the emulator tells them apart.
#include "../job.h"

enum Fault : u32 {
    SOUND = 0,
    BARRIER_REMOVED = 1,        // readers do not wait for the writers
    BARRIER_IN_BRANCH = 2,      // half of the block goes to it
    TWO_BARRIERS = 3,           // each half goes to one of its own
    WRITTEN_PAST_THE_END = 4,   // one element further
    READ_FROM_EXITED_LANE = 5,  // lane 7 has returned
    DIFFERENT_OPERATIONS = 6,   // half of a warp votes, half reads
    NOT_INITIALISED = 7,        // shared memory as it is found
    TICKETS = 8,                // who comes first writes first
    ENDLESS_WAIT = 9,           // half of a warp waits for its own half, the others for all
    LOST_UPDATE = 10,           // a sum is read, and written back after an atomic
};

struct FaultShape {
    u32 fault;
    u32 n;
};

// Sums each block's 64 values; `sums` is [n_blocks], `order` [n].
KERNEL(sum_blocks, 64, IN(0, u32, values), OUT(1, u32, sums), OUT(2, u32, order), VALUE(3, FaultShape, shape)) {
    ENTER(place, shared);
    const u32 fault = shape.fault, thread_idx = place.thread_idx;
    const u32 at = place.block_idx * place.n_threads + thread_idx;
    const bool half = thread_idx % 32 < 16;
    if (fault != NOT_INITIALISED && thread_idx == 0) shared[64] = 0;
    shared[thread_idx] = values[at];
    if (fault == BARRIER_IN_BRANCH) {
        if (half) block_sync();
    } else if (fault == TWO_BARRIERS) {
        if (half) {
            block_sync();
        } else {
            block_sync();
        }
    } else if (fault != BARRIER_REMOVED) {
        block_sync();
    }
    // Each thread takes its neighbour's value, so that it depends on another thread's write.
    u32 value = shared[(thread_idx + 1) % 64];
    if (fault == READ_FROM_EXITED_LANE && place.lane == 7) return;
    if (fault == DIFFERENT_OPERATIONS) value += half ? warp_ballot(true) : warp_read(value, 0u);
    if (fault == READ_FROM_EXITED_LANE) value += warp_read(value, 7u);
#if !defined(STRATA_METAL)
    if (fault == ENDLESS_WAIT) __syncwarp(half ? 0xffffu : ~0u);
#endif
    if (fault == LOST_UPDATE) {
        const u32 seen = shared[64];
        atomic_add(&order[shape.n], 1u);
        shared[64] = seen + value;
    } else {
        atomic_add(&shared[64], value);
    }
    block_sync();
    if (thread_idx == 0) sums[place.block_idx] = shared[64];
    if (fault == TICKETS) {
        order[atomic_add(&order[shape.n], 1u)] = at;
    } else if (fault == WRITTEN_PAST_THE_END) {
        order[at + 2] = at;
    } else {
        order[at] = at;
    }
}

static void run(Job& job) {
    const Input<u32> values = job.input<u32>("values");
    const FaultShape shape = {job.value<u32>("fault"), (u32)values.n()};
    Output<u32> sums = job.output<u32>("sums", values.n() / 64);
    Output<u32> order = job.output<u32>("order", values.n() + 1);
    order[values.n()] = 0;
    launch((unsigned)values.n() / 64, 64, 65 * 4,
           [&] { CALL(sum_blocks, values.data(), sums.data(), order.data(), shape); });
}

int main(int n, char** arguments) { return run_job(n, arguments, run); }
