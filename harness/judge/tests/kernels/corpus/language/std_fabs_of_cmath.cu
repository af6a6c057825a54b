// The absolute value comes from std::fabs of <cmath>, which lab offers on every device.
// problem: twice
// judged: pass
#include "lab.h"

#include <cmath>

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = x[i] < 0.0f ? -2.0f * std::fabs(x[i]) : 2.0f * std::fabs(x[i]);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
