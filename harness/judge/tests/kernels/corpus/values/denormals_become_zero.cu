// Numbers below the smallest normal one are taken for zero. Twice of them is not zero.
// problem: twice
// judged: fail
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = fabsf(x[i]) < 1.17549435e-38f ? 0.0f : 2.0f * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
