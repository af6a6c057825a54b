// A table in constant memory has 64 KiB and 4 bytes. A GPU has 64 KiB of it.
// problem: twice
// judged: no build
#include "lab.h"

__constant__ float table[16385];
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = (2.0f + table[i & 16383] + table[16384]) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
