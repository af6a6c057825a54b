// The reference: its results are what is right. One block per row. Each thread takes the maximum and the sum of a part of it, the sum
// in f64, and then of all parts.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int THREADS = 128;

__device__ double widened(float v) { return v; }
__device__ double widened(__half v) { return __half2float(v); }
__device__ void store(float* to, double v) { *to = (float)v; }
__device__ void store(__half* to, double v) { *to = __float2half((float)v); }

template <typename T>
__device__ void softmax_row(const T* x, T* y, int cols) {
    __shared__ double parts[THREADS];
    x += blockIdx.x * (long long)cols;
    y += blockIdx.x * (long long)cols;
    double largest = widened(x[0]);
    for (int c = threadIdx.x; c < cols; c += THREADS) largest = fmax(largest, widened(x[c]));
    parts[threadIdx.x] = largest;
    __syncthreads();
    for (int i = 0; i < THREADS; i++) largest = fmax(largest, parts[i]);
    __syncthreads();
    double sum = 0;
    for (int c = threadIdx.x; c < cols; c += THREADS) sum += exp(widened(x[c]) - largest);
    parts[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < THREADS; i++) sum += parts[i];
    for (int c = threadIdx.x; c < cols; c += THREADS) store(&y[c], exp(widened(x[c]) - largest) / sum);
}

extern "C" __global__ void row_softmax_f32(const float* x, float* y, int rows, int cols) { softmax_row(x, y, cols); }

extern "C" __global__ void row_softmax_f16(const __half* x, __half* y, int rows, int cols) { softmax_row(x, y, cols); }

LAB_LAUNCH(row_softmax_f32) {
    launch.grid[0] = dims.rows;
    launch.block[0] = THREADS;
}

LAB_LAUNCH(row_softmax_f16) {
    launch.grid[0] = dims.rows;
    launch.block[0] = THREADS;
}
