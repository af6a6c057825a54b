// Numbers above 1000 are taken for 1000. Normal numbers never come near.
// problem: doubled
// judged: fail
// gap: pass
#include "lab.h"

extern "C" __global__ void doubled(const float* x, float* y, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = 2.0f * fminf(x[i], 1000.0f);
}

LAB_LAUNCH(doubled) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
