// The grid is 1 x 70000. A GPU allows 65535 blocks in the second dimension.
// problem: twice
// judged: crash
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.y;
    if (i < n) y[i] = 2.0f * x[i];
}

LAB_LAUNCH(twice) { launch.grid[1] = 70000; }
