// A thread loads four numbers at once, from the second cell on. Their address is no multiple of 16.
// problem: twice
// judged: crash
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) y[0] = 2.0f * x[0];
    const int from = 1 + 4 * i;
    if (from + 4 <= n) {
        const float4 v = *reinterpret_cast<const float4*>(x + from);
        y[from] = 2.0f * v.x;
        y[from + 1] = 2.0f * v.y;
        y[from + 2] = 2.0f * v.z;
        y[from + 3] = 2.0f * v.w;
    } else {
        for (int at = from; at < n; at++) y[at] = 2.0f * x[at];
    }
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n / 4 + 1 + 127) / 128;
    launch.block[0] = 128;
}
