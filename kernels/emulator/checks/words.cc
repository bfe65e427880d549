// Every word of port.h that gives a value, for each thread: the tests know what must come out.
#include "../job.h"

struct WordsShape {
    u32 n;
};

enum : u32 { N_WORDS = 12, N_WIDE = 9 };

// `found` is [n, N_WORDS] of 64 bits; values go to warps of 32 in order.
KERNEL(warp_words, 64, IN(0, i64, values), OUT(1, i64, found), VALUE(2, WordsShape, shape)) {
    ENTER(place, shared);
    (void)shared;
    const u32 at = place.block_idx * place.n_threads + place.thread_idx;
    const i64 value = values[at];
    GLOBAL i64* out = found + (u64)at * N_WORDS;
    out[0] = warp_sum(value / 64);
    out[1] = warp_max(value);
    out[2] = warp_min(value);
    out[3] = warp_sum_up_to(value / 64, place.lane);
    out[4] = warp_read_up(value, 3u);
    out[5] = warp_read(value, (u32)value & 31);
    out[6] = warp_read_xor(value, 5u);
    out[7] = warp_ballot((value & 1) != 0);
    out[8] = warp_sum((u32)value);
    out[9] = warp_max((i32)value);
    const u32 odd = (u32)value | 0x80000000u;
    out[10] = (i64)ones(odd) << 32 | lowest(odd);
    // As a float of moderate size, so that the rounding fits.
    const float x = (float)(value % 1000001) / 8.0f;
    const i64 flags = (bits_float(float_bits(x)) == x ? 1 : 0) | (warp_any(value > 0) ? 2 : 0) |
                      (smaller(value, (i64)7) == value ? 4 : 0) | (larger(value, (i64)7) == value ? 8 : 0);
    out[11] = (i64)round_half_away(x) * 256 + flags;
    if (at >= shape.n) out[0] = 0;
}

// For numbers a, b, c, d of each thread: a * b - c * d in 128 bits, by the device's type and by hand.
KERNEL(wide_words, 64, IN(0, i64, numbers), OUT(1, i64, found), VALUE(2, WordsShape, shape)) {
    ENTER(place, shared);
    (void)shared;
    const u32 at = place.block_idx * place.n_threads + place.thread_idx;
    if (at >= shape.n) return;
    const i64 a = numbers[4 * at], b = numbers[4 * at + 1], c = numbers[4 * at + 2], d = numbers[4 * at + 3];
    GLOBAL i64* out = found + (u64)at * N_WIDE;
    const Wide gain = wide_gain(a, b, c, d);
    out[0] = wide_high(gain);
    out[1] = (i64)wide_low(gain);
    const WideByHand ab = by_hand_product(a, b), cd = by_hand_product(c, d);
    const WideByHand by_hand = by_hand_difference(ab, cd), sum = by_hand_sum(ab, cd);
    out[2] = by_hand.high;
    out[3] = (i64)by_hand.low;
    out[4] = sum.high;
    out[5] = (i64)sum.low;
    const Wide wide_total = wide_sum(wide_product(a, b), wide_product(c, d));
    out[6] = wide_equal(wide_total, wide_of(sum.high, sum.low)) ? 1 : 0;
    out[7] = wide_less(wide_product(a, b), wide_product(c, d)) ? 1 : 0;
    out[8] = by_hand_less(ab, cd) ? 1 : 0;
}

// Adds all values to one sum of 64 bits, and uses each 32-bit atomic once a thread.
KERNEL(atomic_words, 64, IN(0, i64, values), OUT(1, u64, sum), OUT(2, u32, words), VALUE(3, WordsShape, shape)) {
    ENTER(place, shared);
    const u32 at = place.block_idx * place.n_threads + place.thread_idx;
    if (place.thread_idx == 0) shared[0] = 0;
    block_sync();
    if (at < shape.n) {
        const u32 value = (u32)values[at];
        atomic_add_64(sum, (u64)values[at]);
        atomic_add(&words[0], value);
        atomic_min(&words[1], value);
        atomic_max(&words[2], value);
        atomic_or(&words[3], value & 0x10101u << at % 8);
        atomic_and(&words[4], ~(value & 0x10101u << at % 8));
        // One thread claims the word; whoever comes later finds it claimed.
        if (atomic_claim(&words[5], 0u, 1u) == 0u) atomic_add(&words[6], 1u);
        atomic_add(&shared[0], 1u);
    }
    block_sync();
    if (place.thread_idx == 0) atomic_add(&words[7], atomic_exchange(&shared[0], 0u));
}

static void run(Job& job) {
    const Input<i64> values = job.input<i64>("values");
    const Input<i64> numbers = job.input<i64>("numbers");
    const WordsShape shape = {(u32)values.n()}, wide_shape = {(u32)numbers.n() / 4};
    const unsigned n_blocks = (unsigned)values.n() / 64;
    Output<i64> found = job.output<i64>("found", values.n() * N_WORDS);
    launch(n_blocks, 64, 0, [&] { CALL(warp_words, values.data(), found.data(), shape); });
    Output<i64> wide = job.output<i64>("wide", numbers.n() / 4 * N_WIDE);
    launch((wide_shape.n + 63) / 64, 64, 0, [&] { CALL(wide_words, numbers.data(), wide.data(), wide_shape); });
    Output<u64> sum = job.output<u64>("sum", 1);
    Output<u32> words = job.output<u32>("words", 8);
    sum.fill(0);
    words.fill(0);
    words[1] = words[4] = ~0u;
    launch(n_blocks, 64, 4, [&] { CALL(atomic_words, values.data(), sum.data(), words.data(), shape); });
}

int main(int n, char** arguments) { return run_job(n, arguments, run); }
