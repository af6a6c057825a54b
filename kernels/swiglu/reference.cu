// The reference: its results are what is right. One thread computes one cell, in f64.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int THREADS = 256;

__device__ double widened(float v) { return v; }
__device__ double widened(__half v) { return __half2float(v); }
__device__ void store(float* to, double v) { *to = (float)v; }
__device__ void store(__half* to, double v) { *to = __float2half((float)v); }

template <typename T>
__device__ void gate(const T* g, const T* x, T* y, long long cells) {
    const long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
    if (i < cells) store(&y[i], widened(g[i]) / (1 + exp(-widened(g[i]))) * widened(x[i]));
}

extern "C" __global__ void swiglu_f32(const float* g, const float* x, float* y, int rows, int cols) {
    gate(g, x, y, (long long)rows * cols);
}

extern "C" __global__ void swiglu_f16(const __half* g, const __half* x, __half* y, int rows, int cols) {
    gate(g, x, y, (long long)rows * cols);
}

LAB_LAUNCH(swiglu_f32) {
    launch.grid[0] = ((long long)dims.rows * dims.cols + THREADS - 1) / THREADS;
    launch.block[0] = THREADS;
}

LAB_LAUNCH(swiglu_f16) {
    launch.grid[0] = ((long long)dims.rows * dims.cols + THREADS - 1) / THREADS;
    launch.block[0] = THREADS;
}
