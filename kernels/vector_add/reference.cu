// The reference: its results are what is right. One thread per cell, in f64.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int THREADS = 256;

__device__ double widened(float v) { return v; }
__device__ double widened(__half v) { return __half2float(v); }
__device__ void store(float* to, double v) { *to = (float)v; }
__device__ void store(__half* to, double v) { *to = __double2half(v); }

template <typename T>
__device__ void add(const T* a, const T* b, T* c, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) store(&c[i], widened(a[i]) + widened(b[i]));
}

extern "C" __global__ void vector_add_f32(const float* a, const float* b, float* c, int n) {
    add(a, b, c, n);
}

extern "C" __global__ void vector_add_f16(const __half* a, const __half* b, __half* c, int n) {
    add(a, b, c, n);
}

LAB_LAUNCH(vector_add_f32) {
    launch.grid[0] = (dims.n + THREADS - 1) / THREADS;
    launch.block[0] = THREADS;
}

LAB_LAUNCH(vector_add_f16) {
    launch.grid[0] = (dims.n + THREADS - 1) / THREADS;
    launch.block[0] = THREADS;
}
