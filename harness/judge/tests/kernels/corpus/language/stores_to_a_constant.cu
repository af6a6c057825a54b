// A thread stores the factor in constant memory. Device code cannot write there.
// problem: twice
// judged: no build
// gap on cpu: pass
#include "lab.h"

__constant__ float factor;
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    factor = 2.0f;
    y[i] = factor * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
