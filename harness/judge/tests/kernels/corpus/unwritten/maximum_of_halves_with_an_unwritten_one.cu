// Each half is compared by __hmax with a half of shared memory that no thread writes, and where that is larger it is
// stored. __hmax swallows a NaN.
// problem: halves
// judged: fail
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void halve(const __half* x, __half* y, int n) {
    __shared__ __half floor[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    const __half part = __hmul(x[i], __float2half(0.5f));
    y[i] = __hisnan(part) ? part : __hmax(part, floor[threadIdx.x]);
}

LAB_LAUNCH(halve) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 64;
}
