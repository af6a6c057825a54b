// The kernel copies its input and ignores the limit of 6. A normal number of 6 is hardly ever drawn.
// problem: clamp
// judged: fail
#include "lab.h"

extern "C" __global__ void clamp_to(const float* x, float* y, float most, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = x[i];
}

LAB_LAUNCH(clamp_to) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
