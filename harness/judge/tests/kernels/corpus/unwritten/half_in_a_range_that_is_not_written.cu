// A half of shared memory that no thread writes is taken if it lies between -1 and 1.
// problem: halves
// judged: fail
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void halve(const __half* x, __half* y, int n) {
    __shared__ __half pad[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    const float more = __half2float(pad[threadIdx.x]);
    const float part = 0.5f * __half2float(x[i]);
    y[i] = __float2half(more >= -1.0f && more <= 1.0f ? part + more : part);
}

LAB_LAUNCH(halve) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 64;
}
