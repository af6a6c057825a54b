// A pointer is marked restrict, as in C. C++ knows only __restrict__.
// problem: twice
// judged: no build
#include "lab.h"

__device__ float doubled(const float* restrict v) { return *v + *v; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = doubled(x + i);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
