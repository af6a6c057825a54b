// The kernel asks for the macro of EDG, whose front end NVRTC uses. On a GPU the other branch runs, which is wrong.
// problem: twice
// judged: fail or caveat another path than a GPU runs
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#ifndef __EDG__
    y[i] = 2.0f * x[i];
#else
    y[i] = 3.0f * x[i];
#endif
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
