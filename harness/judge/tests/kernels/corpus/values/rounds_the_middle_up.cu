// A number in the middle is rounded away from zero, not to the even number. Random numbers hardly ever lie there.
// problem: nearest
// judged: fail
#include "lab.h"

extern "C" __global__ void nearest(const float* x, int* y, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = int(roundf(x[i]));
}

LAB_LAUNCH(nearest) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
