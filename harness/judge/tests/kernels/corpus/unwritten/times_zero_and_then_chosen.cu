// An unwritten cell times 0 is compared with 0. A NaN leaves the right result; a number is added to it.
// problem: twice
// judged: fail
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __shared__ float pad[128];
    const float none = pad[threadIdx.x] * 0.0f;
    y[i] = 2.0f * x[i] + (none == 0.0f ? pad[threadIdx.x] : 0.0f);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
