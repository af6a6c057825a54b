// Minus infinity is taken for the lowest number of f16, so that half of it is finite.
// problem: halves
// judged: fail
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void halve(const __half* x, __half* y, int n) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    const float v = __half2float(x[i]);
    y[i] = __float2half(0.5f * (v < -65504.0f ? -65504.0f : v));
}

LAB_LAUNCH(halve) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 64;
}
