// NAME: y[r] = sum over c of x[r, c]. One block adds up one row: each thread its share of the columns, then warp shuffles and
// shared memory combine the sums.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int WARP = 32;
constexpr int THREADS = 256;

__device__ float widened(float v) { return v; }
__device__ float widened(__half v) { return __half2float(v); }

// Returns the sum of v over the block, in thread 0.
__device__ float block_sum(float v) {
    __shared__ float partial[THREADS / WARP];
    v = lab_warp_sum(v);
    if (threadIdx.x % WARP == 0) partial[threadIdx.x / WARP] = v;
    __syncthreads();
    float sum = 0;
    if (threadIdx.x == 0) {
        for (int w = 0; w < THREADS / WARP; w++) sum += partial[w];
    }
    return sum;
}

template <typename T>
__device__ void sum_row(const T* x, float* y, int cols) {
    x += (long long)blockIdx.x * cols;
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += THREADS) sum += widened(x[c]);
    sum = block_sum(sum);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" __global__ void NAME_f32(const float* x, float* y, int rows, int cols) { sum_row(x, y, cols); }

extern "C" __global__ void NAME_f16(const __half* x, float* y, int rows, int cols) { sum_row(x, y, cols); }

// A launch statement sets grid, block and shared memory. It runs on the device, outside of the timed window.
LAB_LAUNCH(NAME_f32) {
    launch.grid[0] = dims.rows;
    launch.block[0] = THREADS;
}

LAB_LAUNCH(NAME_f16) {
    launch.grid[0] = dims.rows;
    launch.block[0] = THREADS;
}
