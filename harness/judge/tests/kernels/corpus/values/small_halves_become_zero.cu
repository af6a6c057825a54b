// Numbers below the smallest normal half are taken for zero. The tolerance is only relative.
// problem: halves
// judged: fail
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void halve(const __half* x, __half* y, int n) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    const float v = __half2float(x[i]);
    y[i] = __float2half(fabsf(v) < 6.103515625e-5f ? 0.0f : 0.5f * v);
}

LAB_LAUNCH(halve) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 64;
}
