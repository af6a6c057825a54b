// File, line and level of inclusion are used, but no result depends on their values.
// problem: twice
// judged: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const bool known = __LINE__ > 0 && sizeof(__FILE__) > 1 && __INCLUDE_LEVEL__ >= 0;
    y[i] = (known ? 2.0f : 2.0f) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
