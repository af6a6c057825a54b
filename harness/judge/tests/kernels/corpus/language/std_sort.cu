// A thread sorts two numbers with std::sort. NVRTC has no host library.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float pair[2] = {x[i], 0.0f};
    std::sort(pair, pair + 2);
    y[i] = 2.0f * (pair[0] + pair[1]);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
