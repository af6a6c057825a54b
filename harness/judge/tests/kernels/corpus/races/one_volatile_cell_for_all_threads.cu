// Each thread stores its number in one volatile cell of the block, and loads it again.
// problem: twice
// judged: fail
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ volatile float cell;
    if (i >= n) return;
    cell = x[i];
    y[i] = 2.0f * cell;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
