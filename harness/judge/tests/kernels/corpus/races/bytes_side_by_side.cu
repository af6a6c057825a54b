// Threads store to neighbouring bytes of one word. Bytes are places of their own in CUDA.
// problem: twice
// judged: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    __shared__ unsigned char factors[128];
    const int i = blockIdx.x * 128 + threadIdx.x;
    factors[threadIdx.x] = static_cast<unsigned char>(1 + threadIdx.x % 2);
    __syncthreads();
    if (i < n) y[i] = float(factors[threadIdx.x] + factors[threadIdx.x ^ 1] - 1) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
