// A block has 2048 threads. A GPU allows 1024.
// problem: twice
// judged: crash
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 2047) / 2048;
    launch.block[0] = 2048;
}
