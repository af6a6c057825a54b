// NAME: z[i] = a * x[i] + y[i]. One thread computes one element.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int THREADS = 256;

__device__ float widened(float v) { return v; }
__device__ float widened(__half v) { return __half2float(v); }
__device__ void narrow(float* to, float v) { *to = v; }
__device__ void narrow(__half* to, float v) { *to = __float2half(v); }

template <typename T>
__device__ void scaled_sum(const T* x, const T* y, T* z, float a, int n) {
    const long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
    if (i < n) narrow(&z[i], a * widened(x[i]) + widened(y[i]));
}

extern "C" __global__ void NAME_f32(const float* x, const float* y, float* z, float a, int n) {
    scaled_sum(x, y, z, a, n);
}

extern "C" __global__ void NAME_f16(const __half* x, const __half* y, __half* z, float a, int n) {
    scaled_sum(x, y, z, a, n);
}

// A launch statement sets grid, block and shared memory. It runs on the device, outside of the timed window.
LAB_LAUNCH(NAME_f32) {
    launch.grid[0] = (dims.n + THREADS - 1) / THREADS;
    launch.block[0] = THREADS;
}

LAB_LAUNCH(NAME_f16) {
    launch.grid[0] = (dims.n + THREADS - 1) / THREADS;
    launch.block[0] = THREADS;
}
