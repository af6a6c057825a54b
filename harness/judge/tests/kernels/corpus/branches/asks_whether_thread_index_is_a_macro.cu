// The kernel asks whether threadIdx is a macro. For NVRTC it is a variable. On a GPU the other branch runs, which is
// wrong.
// problem: twice
// judged: fail or caveat another path than a GPU runs
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#ifdef threadIdx
    y[i] = 2.0f * x[i];
#else
    y[i] = 3.0f * x[i];
#endif
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
