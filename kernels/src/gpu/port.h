// The words under which one kernel source compiles as CUDA (nvcc, NVRTC), as Metal and in the emulator.
//
// Kernels use these words only, never a vendor's. A warp is 32 threads: a CUDA warp or a Metal simdgroup of 32
// (the host refuses a device with another width). Grids and blocks have one dimension. Unless a contract says
// otherwise, a warp operation is called by all 32 lanes of the warp together, in the same order; a barrier by all
// threads of the block. Lanes between two syncs run in any order and may be at different places.
//
//   void body(GLOBAL const u32* rows, GLOBAL u32* sums, SHARED u32* shared, Shape shape, Place place) { ... }
//
//   KERNEL(sum_rows, 256, IN(0, u32, rows), OUT(1, u32, sums), VALUE(2, Shape, shape)) {
//       ENTER(place, shared);
//       body(rows, sums, shared, shape, place);
//   }
//
// Constants are enumerators (Metal has no program-scope variable outside its `constant` space). A pointer or reference
// says where it points: GLOBAL, SHARED or LOCAL. `device`, `threadgroup`, `thread`, `constant`, `kernel` are Metal's.
#ifndef STRATA_PORT_H
#define STRATA_PORT_H

// ---------------------------------------------------------------------------------------------------------- Metal
#if defined(__METAL_VERSION__)
#include <metal_stdlib>
using namespace metal;

typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef ushort u16;
typedef uchar u8;

// Address spaces: memory of the device, of the block, of the thread. A function that kernels call.
#define GLOBAL device
#define SHARED threadgroup
#define LOCAL thread
#define FUNCTION inline

// The tests' stand-ins for <metal_stdlib> define this, one of them with one address space only.
#if !defined(PORT_SHARED_ARGUMENT)
#define PORT_SHARED_ARGUMENT [[threadgroup(0)]]
#endif

// The parameters of an entry: buffer `i` read, buffer `i` written (or both), a small struct by value as buffer `i`.
#define IN(i, T, name) device const T* name [[buffer(i)]]
#define OUT(i, T, name) device T* name [[buffer(i)]]
#define VALUE(i, T, name) constant T& name [[buffer(i)]]

// An entry named `name` for blocks of at most `threads_max` threads, and the first line of its body.
#define KERNEL(name, threads_max, ...)                                                                        \
    [[kernel, max_total_threads_per_threadgroup(threads_max)]] void name(                                     \
        __VA_ARGS__, u32 port_block [[threadgroup_position_in_grid]], u32 port_n_blocks [[threadgroups_per_grid]], \
        u32 port_thread [[thread_position_in_threadgroup]], u32 port_n_threads [[threads_per_threadgroup]],   \
        u32 port_lane [[thread_index_in_simdgroup]], u32 port_warp [[simdgroup_index_in_threadgroup]],        \
        threadgroup u32* port_shared PORT_SHARED_ARGUMENT)
#define ENTER(place, shared)                                                                                  \
    const Place place = {port_block, port_n_blocks, port_thread, port_n_threads, port_lane, port_warp};       \
    threadgroup u32* shared = port_shared

#define warp_sync() simdgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup)
#define block_sync() threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup)

FUNCTION u32 warp_ballot(bool holds) { return (u32)(simd_vote::vote_t)simd_ballot(holds); }
FUNCTION u32 warp_read(u32 value, u32 lane) { return simd_shuffle(value, (ushort)lane); }
FUNCTION u32 warp_read_xor(u32 value, u32 mask) { return simd_shuffle_xor(value, (ushort)mask); }
FUNCTION u32 warp_read_up(u32 value, u32 delta) { return simd_shuffle_up(value, (ushort)delta); }

#define PORT_ATOMICS(space)                                                                                   \
    FUNCTION i32 atomic_add(space i32* at, i32 value) {                                                       \
        return atomic_fetch_add_explicit((space atomic_int*)at, value, memory_order_relaxed);                 \
    }                                                                                                         \
    FUNCTION u32 atomic_add(space u32* at, u32 value) {                                                       \
        return atomic_fetch_add_explicit((space atomic_uint*)at, value, memory_order_relaxed);                \
    }                                                                                                         \
    FUNCTION i32 atomic_min(space i32* at, i32 value) {                                                       \
        return atomic_fetch_min_explicit((space atomic_int*)at, value, memory_order_relaxed);                 \
    }                                                                                                         \
    FUNCTION u32 atomic_min(space u32* at, u32 value) {                                                       \
        return atomic_fetch_min_explicit((space atomic_uint*)at, value, memory_order_relaxed);                \
    }                                                                                                         \
    FUNCTION i32 atomic_max(space i32* at, i32 value) {                                                       \
        return atomic_fetch_max_explicit((space atomic_int*)at, value, memory_order_relaxed);                 \
    }                                                                                                         \
    FUNCTION u32 atomic_max(space u32* at, u32 value) {                                                       \
        return atomic_fetch_max_explicit((space atomic_uint*)at, value, memory_order_relaxed);                \
    }                                                                                                         \
    FUNCTION u32 atomic_or(space u32* at, u32 value) {                                                        \
        return atomic_fetch_or_explicit((space atomic_uint*)at, value, memory_order_relaxed);                 \
    }                                                                                                         \
    FUNCTION u32 atomic_and(space u32* at, u32 value) {                                                       \
        return atomic_fetch_and_explicit((space atomic_uint*)at, value, memory_order_relaxed);                \
    }                                                                                                         \
    FUNCTION u32 atomic_exchange(space u32* at, u32 value) {                                                  \
        return atomic_exchange_explicit((space atomic_uint*)at, value, memory_order_relaxed);                 \
    }                                                                                                         \
    FUNCTION u32 atomic_claim(space u32* at, u32 expected, u32 value) {                                       \
        u32 found = expected;                                                                                 \
        while (!atomic_compare_exchange_weak_explicit((space atomic_uint*)at, &found, value,                  \
                                                      memory_order_relaxed, memory_order_relaxed) &&          \
               found == expected) {                                                                           \
        }                                                                                                     \
        return found;                                                                                         \
    }
PORT_ATOMICS(device)
#if !defined(PORT_ONE_SPACE)
PORT_ATOMICS(threadgroup)
#endif

FUNCTION float multiply_add(float a, float b, float c) { return fma(a, b, c); }
FUNCTION float round_half_away(float x) { return round(x); }
FUNCTION u32 float_bits(float x) { return as_type<u32>(x); }
FUNCTION float bits_float(u32 bits) { return as_type<float>(bits); }
FUNCTION u32 ones(u32 x) { return popcount(x); }
FUNCTION u32 lowest(u32 x) { return ctz(x); }

// ------------------------------------------------------------------------------------------------------------ CUDA
#else
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;

#define GLOBAL
#define SHARED
#define LOCAL
#define FUNCTION __device__ __forceinline__

#define IN(i, T, name) const T* __restrict__ name
#define OUT(i, T, name) T* __restrict__ name
#define VALUE(i, T, name) const T name
// At least 512 threads share a multiprocessor, so a thread has at most 128 registers.
#define KERNEL(name, threads_max, ...)                                                                        \
    extern "C" __global__ void __launch_bounds__(threads_max, (threads_max) < 512 ? 512 / (threads_max) : 1)  \
        name(__VA_ARGS__)
#if defined(STRATA_EMULATED)
#define PORT_SHARED(name) u32* name = (u32*)emulator::shared_memory()
#else
#define PORT_SHARED(name) extern __shared__ __align__(16) u32 name[]
#endif
#define ENTER(place, shared)                                                                                  \
    const Place place = {blockIdx.x, gridDim.x, threadIdx.x, blockDim.x, threadIdx.x & 31, threadIdx.x >> 5}; \
    PORT_SHARED(shared)

// Warp and block barriers: lanes (threads) meet, and what each wrote to memory before is seen by the others after.
#define warp_sync() __syncwarp()
#define block_sync() __syncthreads()

// Bit `i` of the answer is the `holds` of lane `i`; all lanes get the same answer.
FUNCTION u32 warp_ballot(bool holds) { return __ballot_sync(0xffffffffu, holds); }
// The `value` of lane `lane` (below 32); of the lane whose number is this one's xor `mask`; of the lane `delta`
// below, where the lowest `delta` lanes keep their own.
FUNCTION u32 warp_read(u32 value, u32 lane) { return __shfl_sync(0xffffffffu, value, (int)lane); }
FUNCTION u32 warp_read_xor(u32 value, u32 mask) { return __shfl_xor_sync(0xffffffffu, value, (int)mask); }
FUNCTION u32 warp_read_up(u32 value, u32 delta) { return __shfl_up_sync(0xffffffffu, value, delta); }

// Atomics on words of shared or global memory, relaxed; each gives the value found. They order nothing else:
// sums and minima must not depend on who came first.
FUNCTION i32 atomic_add(i32* at, i32 value) { return atomicAdd(at, value); }
FUNCTION u32 atomic_add(u32* at, u32 value) { return atomicAdd(at, value); }
FUNCTION i32 atomic_min(i32* at, i32 value) { return atomicMin(at, value); }
FUNCTION u32 atomic_min(u32* at, u32 value) { return atomicMin(at, value); }
FUNCTION i32 atomic_max(i32* at, i32 value) { return atomicMax(at, value); }
FUNCTION u32 atomic_max(u32* at, u32 value) { return atomicMax(at, value); }
FUNCTION u32 atomic_or(u32* at, u32 value) { return atomicOr(at, value); }
FUNCTION u32 atomic_and(u32* at, u32 value) { return atomicAnd(at, value); }
FUNCTION u32 atomic_exchange(u32* at, u32 value) { return atomicExch(at, value); }
// Writes `value` if `expected` is found; gives what was found, so it succeeded exactly if that is `expected`.
FUNCTION u32 atomic_claim(u32* at, u32 expected, u32 value) { return atomicCAS(at, expected, value); }

// a · b + c, rounded once: the same bits everywhere. Compilers are told not to contract others into it.
// Apple's cards may flush results below 2^-126 to zero; no other device does.
FUNCTION float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
// To the nearest integer, halves away from zero, as Rust's `f32::round`.
FUNCTION float round_half_away(float x) { return roundf(x); }
FUNCTION u32 float_bits(float x) { return __float_as_uint(x); }
FUNCTION float bits_float(u32 bits) { return __uint_as_float(bits); }
// Number of ones; place of the lowest one, `x` above 0.
FUNCTION u32 ones(u32 x) { return (u32)__popc(x); }
FUNCTION u32 lowest(u32 x) { return (u32)__ffs((int)x) - 1; }
#endif

// ------------------------------------------------------------------------------------------- built from the above

enum { WARP = 32 };

// Before a loop of a fixed, small number of rounds: its arrays then live in registers.
#if defined(STRATA_EMULATED)
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif

// Where a thread is: its block of `n_blocks`, its number in the block of `n_threads`, and in its warp.
struct Place {
    u32 block_idx;
    u32 n_blocks;
    u32 thread_idx;
    u32 n_threads;
    u32 lane;
    u32 warp;
};

template <typename T>
FUNCTION T smaller(T a, T b) { return b < a ? b : a; }
template <typename T>
FUNCTION T larger(T a, T b) { return a < b ? b : a; }

FUNCTION bool warp_any(bool holds) { return warp_ballot(holds) != 0; }

FUNCTION i32 warp_read(i32 value, u32 lane) { return (i32)warp_read((u32)value, lane); }
FUNCTION i32 warp_read_xor(i32 value, u32 mask) { return (i32)warp_read_xor((u32)value, mask); }
FUNCTION i32 warp_read_up(i32 value, u32 delta) { return (i32)warp_read_up((u32)value, delta); }
FUNCTION float warp_read(float value, u32 lane) { return bits_float(warp_read(float_bits(value), lane)); }

// 64 bits are read as two words: Metal has no wider shuffle.
FUNCTION u64 warp_read(u64 value, u32 lane) {
    const u32 high = warp_read((u32)(value >> 32), lane);
    return (u64)high << 32 | warp_read((u32)value, lane);
}
FUNCTION u64 warp_read_xor(u64 value, u32 mask) {
    const u32 high = warp_read_xor((u32)(value >> 32), mask);
    return (u64)high << 32 | warp_read_xor((u32)value, mask);
}
FUNCTION u64 warp_read_up(u64 value, u32 delta) {
    const u32 high = warp_read_up((u32)(value >> 32), delta);
    return (u64)high << 32 | warp_read_up((u32)value, delta);
}
FUNCTION i64 warp_read(i64 value, u32 lane) { return (i64)warp_read((u64)value, lane); }
FUNCTION i64 warp_read_xor(i64 value, u32 mask) { return (i64)warp_read_xor((u64)value, mask); }
FUNCTION i64 warp_read_up(i64 value, u32 delta) { return (i64)warp_read_up((u64)value, delta); }

// Over the lanes of the warp; every lane gets the result. Sums of signed numbers must not overflow on the way.
template <typename T>
FUNCTION T warp_sum(T value) {
    for (u32 step = WARP / 2; step > 0; step /= 2) value += warp_read_xor(value, step);
    return value;
}
template <typename T>
FUNCTION T warp_max(T value) {
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        const T other = warp_read_xor(value, step);
        value = other > value ? other : value;
    }
    return value;
}
template <typename T>
FUNCTION T warp_min(T value) {
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        const T other = warp_read_xor(value, step);
        value = other < value ? other : value;
    }
    return value;
}
// The sum over this lane and all below it.
template <typename T>
FUNCTION T warp_sum_up_to(T value, u32 lane) {
    for (u32 step = 1; step < WARP; step *= 2) {
        const T below = warp_read_up(value, step);
        value += lane >= step ? below : (T)0;
    }
    return value;
}

// Adds to a 64-bit sum in global memory. Its value is whole only when no add is under way: read it after the kernel
// (or a block barrier, if only that block adds). Where 64-bit adds are missing, a carry out of the low word is
// added to the high one: every carry is seen by exactly one of the adds, so the sum is the same.
FUNCTION void atomic_add_64(GLOBAL u64* at, u64 value) {
#if defined(__METAL_VERSION__)
    GLOBAL u32* words = (GLOBAL u32*)at;
    const u32 low = (u32)value;
    const u32 found = atomic_add(&words[0], low);
    const u32 high = (u32)(value >> 32) + (found + low < found ? 1 : 0);
    if (high != 0) atomic_add(&words[1], high);
#else
    atomicAdd(at, value);
#endif
}

// ---------------------------------------------------------------------------------------------- 128 bits, signed

// By hand, for devices without a 128-bit integer: two's complement in two words.
struct WideByHand {
    i64 high;
    u64 low;
};
FUNCTION WideByHand by_hand_product(i64 a, i64 b) {
    // Schoolbook on unsigned halves, then the sign of each factor is put right in the high word.
    const u64 x = (u64)a, y = (u64)b;
    const u64 x0 = x & 0xffffffffu, x1 = x >> 32, y0 = y & 0xffffffffu, y1 = y >> 32;
    const u64 low = x0 * y0, middle = x1 * y0 + (low >> 32), other = x0 * y1 + (middle & 0xffffffffu);
    u64 high = x1 * y1 + (middle >> 32) + (other >> 32);
    high -= (a < 0 ? y : 0) + (b < 0 ? x : 0);
    const WideByHand product = {(i64)high, other << 32 | (low & 0xffffffffu)};
    return product;
}
FUNCTION WideByHand by_hand_sum(WideByHand a, WideByHand b) {
    const u64 low = a.low + b.low;
    const WideByHand sum = {(i64)((u64)a.high + (u64)b.high + (low < a.low ? 1 : 0)), low};
    return sum;
}
FUNCTION WideByHand by_hand_difference(WideByHand a, WideByHand b) {
    const WideByHand difference = {(i64)((u64)a.high - (u64)b.high - (a.low < b.low ? 1 : 0)), a.low - b.low};
    return difference;
}
FUNCTION bool by_hand_less(WideByHand a, WideByHand b) {
    return a.high < b.high || (a.high == b.high && a.low < b.low);
}

// `Wide` holds any sum or difference of two products of i64 exactly.
#if defined(__SIZEOF_INT128__) && !defined(__METAL_VERSION__)
typedef __int128 Wide;
FUNCTION Wide wide_from(i64 value) { return value; }
FUNCTION Wide wide_product(i64 a, i64 b) { return (Wide)a * b; }
FUNCTION Wide wide_sum(Wide a, Wide b) { return a + b; }
FUNCTION Wide wide_difference(Wide a, Wide b) { return a - b; }
FUNCTION bool wide_less(Wide a, Wide b) { return a < b; }
FUNCTION i64 wide_high(Wide value) { return (i64)(value >> 64); }
FUNCTION u64 wide_low(Wide value) { return (u64)value; }
FUNCTION Wide wide_of(i64 high, u64 low) { return (Wide)((unsigned __int128)(u64)high << 64 | low); }
#else
typedef WideByHand Wide;
FUNCTION Wide wide_of(i64 high, u64 low) {
    const Wide value = {high, low};
    return value;
}
FUNCTION Wide wide_from(i64 value) { return wide_of(value < 0 ? -1 : 0, (u64)value); }
FUNCTION Wide wide_product(i64 a, i64 b) { return by_hand_product(a, b); }
FUNCTION Wide wide_sum(Wide a, Wide b) { return by_hand_sum(a, b); }
FUNCTION Wide wide_difference(Wide a, Wide b) { return by_hand_difference(a, b); }
FUNCTION bool wide_less(Wide a, Wide b) { return by_hand_less(a, b); }
FUNCTION i64 wide_high(Wide value) { return value.high; }
FUNCTION u64 wide_low(Wide value) { return value.low; }
#endif

FUNCTION bool wide_equal(Wide a, Wide b) { return wide_high(a) == wide_high(b) && wide_low(a) == wide_low(b); }
// a · b − c · d, exact: the gain of a move is of this form.
FUNCTION Wide wide_gain(i64 a, i64 b, i64 c, i64 d) { return wide_difference(wide_product(a, b), wide_product(c, d)); }
// The value of lane `lane`; of the lane this one's xor `mask`.
FUNCTION Wide wide_warp_read(Wide value, u32 lane) {
    const i64 high = warp_read(wide_high(value), lane);
    return wide_of(high, warp_read(wide_low(value), lane));
}
FUNCTION Wide wide_warp_read_xor(Wide value, u32 mask) {
    const i64 high = warp_read_xor(wide_high(value), mask);
    return wide_of(high, warp_read_xor(wide_low(value), mask));
}

#endif
