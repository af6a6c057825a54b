// Lanes pass a float2 to one another. A shuffle takes numbers only.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 mine = make_float2(x[i], x[i]);
    mine = __shfl_sync(__activemask(), mine, threadIdx.x % 32);
    y[i] = mine.x + mine.y;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
