// A thread loads two halves at once, from an odd half on. The address is no multiple of 4.
// problem: halves
// judged: crash
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void halve(const __half* x, __half* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const __half part = __float2half(0.5f);
    if (i == 0) y[0] = __hmul(x[0], part);
    const int from = 1 + 2 * i;
    if (from + 2 <= n) {
        const __half2 pair = *reinterpret_cast<const __half2*>(x + from);
        y[from] = __hmul(__low2half(pair), part);
        y[from + 1] = __hmul(__high2half(pair), part);
    } else if (from < n) {
        y[from] = __hmul(x[from], part);
    }
}

LAB_LAUNCH(halve) {
    launch.grid[0] = (dims.n / 2 + 1 + 63) / 64;
    launch.block[0] = 64;
}
