// Atomic functions whose arguments are converted: a count of int for an unsigned word, a float for a double.
// problem: twice
// judged: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __shared__ unsigned count;
    __shared__ double sum;
    if (threadIdx.x == 0) {
        count = 0;
        sum = 0.0;
    }
    __syncthreads();
    atomicAdd(&count, 1);
    atomicAdd(&sum, 1.0f);
    __syncthreads();
    y[i] = count > 0 && sum == count ? 2.0f * x[i] : 0.0f;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
