// A thread calls cudaMalloc, a function of CUDA's host library.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (n < 0) {
        void* more;
        cudaMalloc(&more, 4);
    }
    y[i] = 2.0f * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
