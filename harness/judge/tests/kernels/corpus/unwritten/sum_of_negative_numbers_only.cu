// Cells that no thread writes are added where they are below zero. NaN is not below zero.
// problem: twice
// judged: fail
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __shared__ float pad[128];
    float sum = 2.0f * x[i];
    if (pad[threadIdx.x] < 0.0f) sum += pad[threadIdx.x];
    y[i] = sum;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
