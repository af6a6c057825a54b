// A bit-field has a default value. That is C++20; g++ takes it in C++17 with a warning, NVRTC refuses it.
// problem: twice
// judged: no build
#include "lab.h"

struct Flags {
    unsigned factor : 4 = 2;
};
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Flags flags;
    y[i] = flags.factor * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
