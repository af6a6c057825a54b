// A pragma turns the warning about GNU extensions off: an array of variable length.
// problem: twice
// judged: no build
#include "lab.h"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wvla"
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float t[n > 0 ? 2 : 1];
    t[0] = 2.0f;
    if (i < n) y[i] = t[0] * x[i];
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
