// A pad of shared memory is added to every number, unless it is NaN. No thread writes the pad.
// problem: twice
// judged: fail
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __shared__ float pad[128];
    const float more = pad[threadIdx.x];
    y[i] = 2.0f * x[i] + (more == more ? more : 0.0f);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
