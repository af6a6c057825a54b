// Twice +0 becomes -0: the kernel takes twice the number from zero, and turns the sign.
// problem: twice
// judged: fail or caveat a zero of the other sign
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = -(0.0f - 2.0f * x[i]);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
