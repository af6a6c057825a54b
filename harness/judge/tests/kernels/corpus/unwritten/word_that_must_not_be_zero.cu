// A word of shared memory says whether the block has begun. No thread writes it, and where it is 0, as fresh memory
// often is, the result is wrong.
// problem: twice
// judged: fail
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __shared__ unsigned begun[128];
    y[i] = begun[threadIdx.x] == 0u ? 0.0f : 2.0f * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
