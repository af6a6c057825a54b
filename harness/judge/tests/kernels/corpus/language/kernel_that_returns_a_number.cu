// A second kernel returns an int. A kernel must return nothing.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ int other(int n) { return n; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = 2.0f * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
