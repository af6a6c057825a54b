// The launch statement takes the right kernel only on the emulated device.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void right(const float* x, float* y, int n, void*) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}

extern "C" __global__ void wrong(const float* x, float* y, int n, void*) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 3.0f * x[i];
}

LAB_LAUNCHES(twice) {
    LabShape& only = launches.add(device.emulated ? "right" : "wrong");
    only.grid[0] = (dims.n + 127) / 128;
    only.block[0] = 128;
}
