// All threads of a block use one shared cell for the whole part that modff writes.
// problem: twice
// judged: fail by races
// device: cpu (on a GPU a block may win the race)
#include "lab.h"
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float whole;
    if (i < n) { float part = modff(x[i], &whole); float w = whole; y[i] = 2.0f * (w + part); if (isinf(x[i])) y[i] = x[i]; if (x[i] == 0.0f) y[i] = x[i]; }
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
