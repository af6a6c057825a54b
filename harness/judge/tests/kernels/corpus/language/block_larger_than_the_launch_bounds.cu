// The kernel promises blocks of at most 64 threads and is launched with 128. A GPU refuses such a launch.
// problem: twice
// judged: crash
#include "lab.h"

extern "C" __global__ void __launch_bounds__(64) twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
