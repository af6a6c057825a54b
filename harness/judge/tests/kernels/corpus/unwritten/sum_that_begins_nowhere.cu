// The sum has no first value. The cpu device gives it one that no kernel means.
// problem: added
// judged: fail
// says on cpu: Shared memory, scratch and variables hold this before a kernel writes them
// device: cpu (a register of a GPU may hold zero)
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void added(const float* x, float* single, __half* half, double* wide, int n) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    float sum;
    for (int k = 0; k < 2; k++) sum += 0.5f * x[i];
    single[i] = 1.0f + sum;
    half[i] = __float2half(__half2float(half[i]) + x[i]);
    wide[i] += x[i];
}

LAB_LAUNCH(added) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 64;
}
