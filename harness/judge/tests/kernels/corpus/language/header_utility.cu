// A pair of numbers comes from <utility>, which lab offers on every device.
// problem: twice
// judged: pass
#include "lab.h"

#include <utility>

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const auto pair = std::make_pair(x[i], x[i]);
    y[i] = pair.first + pair.second;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
