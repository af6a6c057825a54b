// A block is 1 x 1 x 128. A GPU allows 64 threads in the third dimension.
// problem: twice
// judged: crash
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.z + threadIdx.z;
    if (i < n) y[i] = 2.0f * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[2] = 128;
}
