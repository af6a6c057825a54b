// A zero is added before the division, which makes +0 of -0. One over it is infinity of the wrong sign.
// problem: reciprocal
// judged: fail
#include "lab.h"

extern "C" __global__ void reciprocal(const float* x, float* y, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = 1.0f / (x[i] + 0.0f);
}

LAB_LAUNCH(reciprocal) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
