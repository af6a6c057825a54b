// The reference: its results are what is right. One thread per result, a plain loop, the sum in f64. It need not be fast.
#include "lab.h"

#include <cuda_fp16.h>

__device__ double widened(float v) { return v; }
__device__ double widened(__half v) { return __half2float(v); }
__device__ void store(float* to, double v) { *to = (float)v; }
__device__ void store(__half* to, double v) { *to = __float2half((float)v); }

template <typename T>
__device__ void compute(const T* a, const T* b, T* c, int m, int n, int k) {
    const long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (at >= (long long)m * n) return;
    const long long i = at / n, j = at % n;
    double sum = 0;
    for (int l = 0; l < k; l++) sum += widened(a[i * k + l]) * widened(b[(long long)l * n + j]);
    store(&c[at], sum);
}

extern "C" __global__ void NAME_f32(const float* a, const float* b, float* c, int m, int n, int k) {
    compute(a, b, c, m, n, k);
}

extern "C" __global__ void NAME_f16(const __half* a, const __half* b, __half* c, int m, int n, int k) {
    compute(a, b, c, m, n, k);
}

LAB_LAUNCH(NAME_f32) {
    launch.grid[0] = ((long long)dims.m * dims.n + 127) / 128;
    launch.block[0] = 128;
}

LAB_LAUNCH(NAME_f16) {
    launch.grid[0] = ((long long)dims.m * dims.n + 127) / 128;
    launch.block[0] = 128;
}
