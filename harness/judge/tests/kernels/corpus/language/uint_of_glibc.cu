// The type uint is used. It is a name of the host library; NVRTC does not define it.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint bits = __float_as_uint(x[i]);
    y[i] = 2.0f * __uint_as_float(bits);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
