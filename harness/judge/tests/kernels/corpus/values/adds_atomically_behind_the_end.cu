// Each thread of the last block adds to a cell by an atomic, also behind the end of the output.
// problem: added
// judged: fail by out_of_bounds alone
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void added(const float* x, float* single, __half* half, double* wide, int n) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    const float more = x[i < n ? i : n - 1];
    atomicAdd(&single[i], more);
    if (i >= n) return;
    half[i] = __float2half(__half2float(half[i]) + more);
    wide[i] += more;
}

LAB_LAUNCH(added) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 64;
}
