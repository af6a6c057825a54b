// A lambda captures a name that a structured binding made. That is C++20; g++ takes it in C++17, NVRTC refuses it.
// problem: twice
// judged: no build
// gap on cpu: pass
#include "lab.h"

struct Line {
    float by, plus;
};
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    auto [by, plus] = Line{2.0f, 0.0f};
    auto at = [by, plus](float v) { return by * v + plus; };
    y[i] = at(x[i]);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
