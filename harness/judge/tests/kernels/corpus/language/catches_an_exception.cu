// A thread would catch an exception that nothing throws. Device code has no exceptions.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    try {
        y[i] = 2.0f * x[i];
    } catch (...) {
        y[i] = 0.0f;
    }
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
