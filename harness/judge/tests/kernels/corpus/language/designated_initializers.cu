// The members of a struct are named where it is initialised. That is C++20; g++ takes it in C++17, NVRTC refuses it.
// problem: twice
// judged: no build
#include "lab.h"

struct Factor {
    float whole, part;
};
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Factor by{.whole = 2.0f, .part = 0.0f};
    y[i] = (by.whole + by.part) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
