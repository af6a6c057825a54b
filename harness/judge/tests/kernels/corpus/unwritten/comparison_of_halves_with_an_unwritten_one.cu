// A half that no thread writes takes the place of the result where it is below it. A comparison with NaN is false.
// problem: halves
// judged: fail
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void halve(const __half* x, __half* y, int n) {
    extern __shared__ __half most[];
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    const __half part = __hmul(x[i], __float2half(0.5f));
    y[i] = __hlt(most[threadIdx.x], part) ? most[threadIdx.x] : part;
}

LAB_LAUNCH(halve) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 64;
    launch.shared_bytes = 128;
}
