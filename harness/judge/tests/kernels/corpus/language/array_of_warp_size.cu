// An array has warpSize cells. In CUDA warpSize is no constant.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float cells[warpSize];
    for (int at = 0; at < 32; at++) cells[at] = x[i];
    y[i] = cells[0] + cells[31];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
