// Each cell is copied by way of shared memory, and read before its warp has written it. No cell is unwritten.
// problem: added
// judged: fail
// never says: unwritten)
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void added(const float* x, float* single, __half* half, double* wide, int n) {
    __shared__ float tile[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) tile[threadIdx.x] = x[i];
    if (i >= n) return;
    single[i] = tile[63 - threadIdx.x] + 1.0f - 1.0f;
    half[i] = __float2half(__half2float(half[i]) + x[i]);
    wide[i] += x[i];
}

LAB_LAUNCH(added) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 64;
}
