// A number that is too large for an int becomes the largest int on a GPU, and the smallest one on x86. The factor depends
// on it.
// problem: twice
// judged: crash
// judged on cuda: fail or caveat
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int large = 3e9f + 0.0f * n;
    y[i] = (large < 0 ? 2.0f : 3.0f) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
