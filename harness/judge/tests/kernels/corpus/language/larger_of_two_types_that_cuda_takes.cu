// CUDA has max for int with unsigned, float with double, and two chars.
// problem: twice
// judged: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double two = max(2.0f, 1.0);
    const unsigned one = max(1, 1u) * max('\1', '\1');
    y[i] = float(two * one) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
