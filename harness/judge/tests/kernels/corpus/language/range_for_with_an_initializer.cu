// A range-based for has an initializer. That is C++20; g++ takes it in C++17 with a warning, NVRTC refuses it.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (const float v = x[i]; int times : {1, 1}) sum += times * v;
    y[i] = sum;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
