// Threads load a local variable of the first one, by a pointer in shared memory. On a GPU the address is one of their
// own local memory.
// problem: twice
// judged: fail by races
// judged on cuda: fail
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float* factor;
    float own = threadIdx.x == 0 ? 2.0f : 3.0f;
    if (threadIdx.x == 0) factor = &own;
    __syncthreads();
    if (i < n) y[i] = *factor * x[i];
    __syncthreads();
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
