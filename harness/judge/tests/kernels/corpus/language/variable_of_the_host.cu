// The factor is a variable of the host, without __device__. NVRTC refuses it.
// problem: twice
// judged: no build
#include "lab.h"

float factor = 2.0f;
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = factor * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
