// Two halves are multiplied at a time. A last single one is multiplied alone.
// problem: halves
// judged: pass
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void halve(const __half* __restrict__ x, __half* __restrict__ y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * i + 1 < n) {
        const __half2 pair = __ldg(reinterpret_cast<const __half2*>(x) + i);
        reinterpret_cast<__half2*>(y)[i] = __hmul2(pair, __float2half2_rn(0.5f));
    } else if (2 * i < n) {
        y[2 * i] = x[2 * i] * __half(0.5f);
    }
}

LAB_LAUNCH(halve) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 32;
}
