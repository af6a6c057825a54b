// The fast sine of a large number is inexact on a GPU and exact on the cpu device. The factor depends on it.
// problem: twice
// judged: fail or caveat
// gap on cpu: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float angle = 3000.0f + 0.0f * x[i];
    const float off = fabsf(__sinf(angle) - sinf(angle));
    y[i] = (off < 1e-6f ? 2.0f : 3.0f) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
