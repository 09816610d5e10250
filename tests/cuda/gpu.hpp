// What generated kernels use of CUDA C, for g++: see simulator.cpp for how it runs.
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(n)
#define __shared__ static __attribute__((section("gpu_shared"), used))

struct Index { unsigned x, y, z; };
extern "C" {
extern Index gpu_thread, gpu_block, gpu_block_size, gpu_grid_size;
void gpu_barrier(int line);
uint64_t gpu_exchange(uint64_t value, int lane_mask, int line);
}
#define threadIdx gpu_thread
#define blockIdx gpu_block
#define blockDim gpu_block_size
#define gridDim gpu_grid_size
#define __syncthreads() gpu_barrier(__LINE__)
#define __syncwarp() ((void)gpu_exchange(0, 0, __LINE__))
#define __shfl_xor_sync(mask, value, lane_mask) gpu_shuffle(value, lane_mask, __LINE__)

// Everything here that touches memory of its own is hidden from the checks of the simulator.
#define QUIET __attribute__((no_sanitize("thread"))) static inline

template <class T> QUIET T gpu_shuffle(T value, int lane_mask, int line) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(T));
  bits = gpu_exchange(bits, lane_mask, line);
  memcpy(&value, &bits, sizeof(T));
  return value;
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)((unsigned long long)a * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }

// One argument of a launch: converts to whatever pointer the kernel takes.
struct Any {
  void* place;
  template <class T> __attribute__((no_sanitize("thread"))) operator T*() const {
    return *(T**)place;
  }
};
