// LayerNorm: y[r, c] = (x[r, c] - mean) / sqrt(var + eps) * gain[c] + bias[c].
//
// One block of 256 threads computes one row and reads it three times: for the mean, for the deviations from it, and for the result. The
// second and the third read come from the cache.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int WARP = 32;
constexpr int THREADS = 256;

__device__ float widened(float v) { return v; }
__device__ float widened(__half v) { return __half2float(v); }
__device__ void narrow(float* to, float v) { *to = v; }
__device__ void narrow(__half* to, float v) { *to = __float2half(v); }

// Returns the sum of v over the block, in every thread.
__device__ float block_sum(float v) {
    __shared__ float partial[THREADS / WARP];
    v = lab_warp_sum(v);
    __syncthreads();
    if (threadIdx.x % WARP == 0) partial[threadIdx.x / WARP] = v;
    __syncthreads();
    float sum = 0;
    for (int w = 0; w < THREADS / WARP; w++) sum += partial[w];
    return sum;
}

template <typename T>
__device__ void normalise(const T* x, const T* gain, const T* bias, T* y, float eps, int cols) {
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += THREADS) sum += widened(x[c]);
    const float near = block_sum(sum) / cols;
    // `near` is the mean, rounded to f32. The deviations from it are exact where they matter, and their mean is what the rounding took.
    float deviations = 0, squares = 0;
    for (int c = threadIdx.x; c < cols; c += THREADS) {
        const float deviation = widened(x[c]) - near;
        deviations += deviation;
        squares += deviation * deviation;
    }
    const float rest = block_sum(deviations) / cols;
    const float scale = rsqrtf(block_sum(squares) / cols - rest * rest + eps);
    for (int c = threadIdx.x; c < cols; c += THREADS)
        narrow(&y[c], (widened(x[c]) - near - rest) * scale * widened(gain[c]) + widened(bias[c]));
}

extern "C" __global__ void __launch_bounds__(THREADS)
    layernorm_f32(const float* x, const float* gain, const float* bias, float* y, float eps, int rows, int cols) {
    normalise(x, gain, bias, y, eps, cols);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    layernorm_f16(const __half* x, const __half* gain, const __half* bias, __half* y, float eps, int rows, int cols) {
    normalise(x, gain, bias, y, eps, cols);
}

LAB_LAUNCH(layernorm_f32) {
    launch.grid[0] = dims.rows;
    launch.block[0] = THREADS;
}

LAB_LAUNCH(layernorm_f16) {
    launch.grid[0] = dims.rows;
    launch.block[0] = THREADS;
}
