// The kernel takes the address of threadIdx. CUDA's built-in variables have none.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned* lane = &threadIdx.x;
    y[blockIdx.x * 128 + *lane] = 2.0f * x[blockIdx.x * 128 + *lane];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
