// Each thread passes arrays of its own to functions, and keeps a pointer to one in shared memory, which it alone uses.
// problem: twice
// judged: pass
#include "lab.h"

__device__ __noinline__ void add(const float* from, float* to, int many) {
    for (int k = 0; k < many; k++) *to += from[k];
}

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ const float* of_thread[128];
    float both[2] = {0.0f, 0.0f}, sum = 0.0f;
    if (i < n) both[0] = both[1] = x[i];
    of_thread[threadIdx.x] = both;
    __syncthreads();
    add(of_thread[threadIdx.x], &sum, 2);
    if (i < n) y[i] = sum;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
