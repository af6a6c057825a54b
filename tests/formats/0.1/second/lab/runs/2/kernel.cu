#include "lab.h"
// kept
// lab: tune BLOCK = 32, 64
#ifndef BLOCK
#define BLOCK 32
#endif
extern "C" __global__ void scale(const float* x, float* y, int n) {
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
LAB_LAUNCH(scale) {
    launch.block[0] = BLOCK;
    launch.grid[0] = (dims.n + BLOCK - 1) / BLOCK;
}
