// The kernel brings numbers below the limit, but not above the negative one. A normal number of -6 is hardly ever
// drawn.
// problem: clamp
// judged: fail
#include "lab.h"

extern "C" __global__ void clamp_to(const float* x, float* y, float most, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = fminf(x[i], most);
}

LAB_LAUNCH(clamp_to) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
