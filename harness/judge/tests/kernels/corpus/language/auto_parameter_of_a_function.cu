// A function has a parameter of type auto. That is C++20; g++ may take it in C++17 with a warning, NVRTC refuses it.
// problem: twice
// judged: no build
#include "lab.h"

__device__ float doubled(auto v) { return v + v; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = doubled(x[i]);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
