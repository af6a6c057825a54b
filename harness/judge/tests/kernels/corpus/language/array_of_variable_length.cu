// An array's length is a parameter. g++ takes it as GNU's own C++; NVRTC wants a constant.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int length = n > 1 ? 2 : 1;
    float part[length];
    for (int at = 0; at < length; at++) part[at] = x[i];
    y[i] = part[0] + part[length - 1];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
