// A thread launches another kernel. NVRTC has no headers for that.
// problem: twice
// judged: no build
#include "lab.h"

__global__ void other(float* y) { y[0] = 0.0f; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (n < 0) other<<<1, 1>>>(y);
    y[i] = 2.0f * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
