// Sums 32 words a warp in several ways; how fast an operation of a warp is, is measured with this one too.
#include "../job.h"

struct SumShape {
    u32 n_rounds;
};

KERNEL(sum_warps, 64, IN(0, u32, values), OUT(1, u32, sums), VALUE(2, SumShape, shape)) {
    ENTER(place, shared);
    u32 value = values[place.block_idx * place.n_threads + place.thread_idx];
    for (u32 i = 0; i < shape.n_rounds; i++) value = warp_sum(value) + place.lane;
    shared[place.thread_idx] = value;
    block_sync();
    if (place.thread_idx == 0) {
        u32 sum = 0;
        for (u32 i = 0; i < place.n_threads; i++) sum += shared[i];
        sums[place.block_idx] = sum;
    }
}

static void run(Job& job) {
    const Input<u32> values = job.input<u32>("values");
    const SumShape shape = job.value<SumShape>("shape");
    const unsigned n_blocks = (unsigned)values.n() / 64;
    Output<u32> sums = job.output<u32>("sums", n_blocks);
    launch(n_blocks, 64, 64 * 4, [&] { CALL(sum_warps, values.data(), sums.data(), shape); });
    fprintf(stderr, "%llu switches\n", (unsigned long long)emulator::machine.n_switches);
}

int main(int n, char** arguments) { return run_job(n, arguments, run); }
