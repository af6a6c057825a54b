// A thread stores two numbers at once, at an odd cell. Its address is no multiple of 8.
// problem: twice
// judged: crash
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) y[0] = 2.0f * x[0];
    const int from = 1 + 2 * i;
    if (from + 2 <= n) *reinterpret_cast<float2*>(y + from) = make_float2(2.0f * x[from], 2.0f * x[from + 1]);
    else if (from < n) y[from] = 2.0f * x[from];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n / 2 + 1 + 127) / 128;
    launch.block[0] = 128;
}
