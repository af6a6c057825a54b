// A variable of each thread of the host, by the older word of the host's compiler.
// problem: twice
// judged: no build
#include "lab.h"

__device__ float doubled(float v) {
    static __thread float last;
    last = v;
    return last + last;
}

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = doubled(x[i]);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
