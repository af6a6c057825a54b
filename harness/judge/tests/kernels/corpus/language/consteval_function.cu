// A function may run only in the compiler, by consteval of C++20. NVRTC builds C++17.
// problem: twice
// judged: no build
#include "lab.h"

__device__ consteval float factor(int halves) { return 2.0f * halves; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = factor(1) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
