// A lambda outside of a function has no __device__. NVRTC takes it for code of the host.
// problem: twice
// judged: no build
// gap on cpu: pass
#include "lab.h"

constexpr auto doubled = [](float v) { return v + v; };
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = doubled(x[i]);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
