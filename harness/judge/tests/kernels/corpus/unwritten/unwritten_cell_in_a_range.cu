// A cell of shared memory that no thread writes is added if it is an ordinary number, as other kernels leave there.
// problem: twice
// judged: fail
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __shared__ float pad[128];
    const float more = pad[threadIdx.x];
    y[i] = 2.0f * x[i] + (fabsf(more) < 1e6f ? more : 0.0f);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
