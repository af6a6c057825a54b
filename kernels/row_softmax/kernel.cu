// Softmax over rows: y[r, c] = exp(x[r, c] - max) / sum over c of exp(x[r, c] - max).
//
// One block of 256 threads computes one row and reads it three times: for the maximum, for the sum, and for the result. The second and
// the third read come from the cache.
#include "lab.h"

#include <cuda_fp16.h>
#include <cmath>

constexpr int WARP = 32;
constexpr int THREADS = 256;

__device__ float widened(float v) { return v; }
__device__ float widened(__half v) { return __half2float(v); }
__device__ void narrow(float* to, float v) { *to = v; }
__device__ void narrow(__half* to, float v) { *to = __float2half(v); }

// Returns the largest v of the block, in every thread.
__device__ float block_max(float v) {
    __shared__ float partial[THREADS / WARP];
    for (int offset = WARP / 2; offset > 0; offset /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, offset));
    if (threadIdx.x % WARP == 0) partial[threadIdx.x / WARP] = v;
    __syncthreads();
    for (int w = 0; w < THREADS / WARP; w++) v = fmaxf(v, partial[w]);
    return v;
}

// Returns the sum of v over the block, in every thread.
__device__ float block_sum(float v) {
    __shared__ float partial[THREADS / WARP];
    v = lab_warp_sum(v);
    if (threadIdx.x % WARP == 0) partial[threadIdx.x / WARP] = v;
    __syncthreads();
    float sum = 0;
    for (int w = 0; w < THREADS / WARP; w++) sum += partial[w];
    return sum;
}

template <typename T>
__device__ void softmax(const T* x, T* y, int cols) {
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    float largest = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += THREADS) largest = fmaxf(largest, widened(x[c]));
    largest = block_max(largest);
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += THREADS) sum += expf(widened(x[c]) - largest);
    const float scale = 1 / block_sum(sum);
    for (int c = threadIdx.x; c < cols; c += THREADS) narrow(&y[c], expf(widened(x[c]) - largest) * scale);
}

extern "C" __global__ void __launch_bounds__(THREADS) row_softmax_f32(const float* x, float* y, int rows, int cols) { softmax(x, y, cols); }

extern "C" __global__ void __launch_bounds__(THREADS) row_softmax_f16(const __half* x, __half* y, int rows, int cols) {
    softmax(x, y, cols);
}

LAB_LAUNCH(row_softmax_f32) {
    launch.grid[0] = dims.rows;
    launch.block[0] = THREADS;
}

LAB_LAUNCH(row_softmax_f16) {
    launch.grid[0] = dims.rows;
    launch.block[0] = THREADS;
}
