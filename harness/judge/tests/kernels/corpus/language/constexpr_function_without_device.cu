// A constexpr function has no __device__. NVRTC refuses host functions, constexpr ones too.
// problem: twice
// judged: no build
#include "lab.h"

constexpr float doubled(float v) { return v + v; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = doubled(x[i]);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
