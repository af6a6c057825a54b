// The product is rounded to a half, which is exact enough. It overflows only where both numbers are large at the same
// place.
// problem: half_products
// judged: fail
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void half_products(const __half* a, const __half* b, float* y, int n) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    y[i] = __half2float(__hmul(a[i], b[i]));
}

LAB_LAUNCH(half_products) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 64;
}
