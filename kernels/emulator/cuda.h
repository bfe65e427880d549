// CUDA's names as far as port.h uses them, and a few more for checks, on top of the emulator.
#pragma once

#include "emulator.h"

#define STRATA_EMULATED 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict

struct emulator_index {
    unsigned x;
};
#define threadIdx (emulator_index{emulator::machine.current->thread_idx})
#define blockIdx (emulator_index{emulator::machine.current->warp->block->block_idx})
#define blockDim (emulator_index{emulator::machine.n_threads})
#define gridDim (emulator_index{emulator::machine.n_blocks})

// A macro, so that the line is the caller's.
#define __syncthreads() emulator::barrier(__LINE__)

inline void __syncwarp(unsigned mask = ~0u) { emulator::meet(emulator::Op::Sync, mask, 0, 0); }
inline unsigned __ballot_sync(unsigned mask, int holds) {
    return (unsigned)emulator::meet(emulator::Op::Ballot, mask, holds != 0, 0);
}
inline unsigned __shfl_sync(unsigned mask, unsigned value, int lane) {
    return (unsigned)emulator::meet(emulator::Op::Read, mask, value, (unsigned)lane & 31);
}
inline unsigned __shfl_xor_sync(unsigned mask, unsigned value, int bits) {
    return (unsigned)emulator::meet(emulator::Op::Read, mask, value, emulator::machine.current->lane ^ (unsigned)bits);
}
inline unsigned __shfl_up_sync(unsigned mask, unsigned value, unsigned delta) {
    const unsigned lane = emulator::machine.current->lane;
    return (unsigned)emulator::meet(emulator::Op::Read, mask, value, lane >= delta ? lane - delta : lane);
}

template <typename T, typename F>
inline T emulator_update(T* at, F&& next) {
    emulator::atomic_point();
    const T found = *at;
    *at = next(found);
    return found;
}
template <typename T>
inline T atomicAdd(T* at, T value) {
    // Wraps as the device does, without a signed overflow on the way.
    return emulator_update(at, [=](T found) { return (T)((unsigned long long)found + (unsigned long long)value); });
}
template <typename T>
inline T atomicMin(T* at, T value) {
    return emulator_update(at, [=](T found) { return value < found ? value : found; });
}
template <typename T>
inline T atomicMax(T* at, T value) {
    return emulator_update(at, [=](T found) { return value > found ? value : found; });
}
template <typename T>
inline T atomicOr(T* at, T value) {
    return emulator_update(at, [=](T found) { return found | value; });
}
template <typename T>
inline T atomicAnd(T* at, T value) {
    return emulator_update(at, [=](T found) { return found & value; });
}
template <typename T>
inline T atomicExch(T* at, T value) {
    return emulator_update(at, [=](T) { return value; });
}
template <typename T>
inline T atomicCAS(T* at, T expected, T value) {
    return emulator_update(at, [=](T found) { return found == expected ? value : found; });
}

inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline unsigned __float_as_uint(float x) {
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float __uint_as_float(unsigned bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
