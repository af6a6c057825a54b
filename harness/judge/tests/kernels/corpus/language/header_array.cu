// A thread keeps its numbers in a std::array, which lab offers on every device.
// problem: twice
// judged: pass
#include "lab.h"

#include <array>

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    std::array<float, 2> v{x[i], x[i]};
    y[i] = v[0] + v[1];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
