// The launch statement takes the right kernel only where there are 16 multiprocessors, as on the emulated device. An
// H200 has 132.
// problem: twice
// judged: fail or caveat
// gap on cpu: pass
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
    LabShape& only = launches.add(device.sms == 16 ? "right" : "wrong");
    only.grid[0] = (dims.n + 127) / 128;
    only.block[0] = 128;
}
