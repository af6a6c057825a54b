// A thread keeps its number in a std::vector. NVRTC has no such header.
// problem: twice
// judged: no build
#include "lab.h"

#include <vector>

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    std::vector<float> v(2, x[i]);
    y[i] = v[0] + v[1];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
