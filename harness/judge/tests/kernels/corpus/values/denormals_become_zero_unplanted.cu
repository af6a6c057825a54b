// The same in a problem that plants nothing. Numbers that small are never drawn.
// problem: doubled
// judged: fail
// gap: pass
#include "lab.h"

extern "C" __global__ void doubled(const float* x, float* y, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = fabsf(x[i]) < 1.17549435e-38f ? 0.0f : 2.0f * x[i];
}

LAB_LAUNCH(doubled) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
