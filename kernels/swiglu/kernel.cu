// SwiGLU: y[r, c] = silu(g[r, c]) * x[r, c], where silu(g) = g / (1 + exp(-g)).
//
// One thread computes one cell.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int THREADS = 256;

__device__ float widened(float v) { return v; }
__device__ float widened(__half v) { return __half2float(v); }
__device__ void narrow(float* to, float v) { *to = v; }
__device__ void narrow(__half* to, float v) { *to = __float2half(v); }

template <typename T>
__device__ void gate(const T* g, const T* x, T* y, long long cells) {
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i >= cells) return;
    const float v = widened(g[i]);
    narrow(&y[i], v / (1 + expf(-v)) * widened(x[i]));
}

extern "C" __global__ void __launch_bounds__(THREADS) swiglu_f32(const float* g, const float* x, float* y, int rows, int cols) {
    gate(g, x, y, (long long)rows * cols);
}

extern "C" __global__ void __launch_bounds__(THREADS) swiglu_f16(const __half* g, const __half* x, __half* y, int rows, int cols) {
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
