// The factor depends on the date of the build. lab refuses sources that change by themselves.
// problem: twice
// judged: no build
// judged on cuda: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = (__DATE__[0] == '?' ? 3.0f : 2.0f) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
