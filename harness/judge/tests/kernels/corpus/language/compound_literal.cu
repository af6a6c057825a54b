// A struct is written as in C, with its type in brackets. g++ takes it as GNU's own C++; NVRTC does not know it.
// problem: twice
// judged: no build
#include "lab.h"

struct Line {
    float by, plus;
};
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Line at = (Line){2.0f, 0.0f};
    y[i] = at.by * x[i] + at.plus;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
