// Two tables in constant memory have 40,000 bytes each. A GPU has 64 KiB for both.
// problem: twice
// judged: no build
#include "lab.h"

__constant__ float first[10000];
__constant__ float second[10000];
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = (2.0f + first[i % 10000] + second[i % 10000]) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
