// A limit comes from <limits>, which lab offers on every device.
// problem: twice
// judged: pass
#include "lab.h"

#include <limits>

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = x[i] < std::numeric_limits<float>::infinity() ? 2.0f * x[i] : x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
