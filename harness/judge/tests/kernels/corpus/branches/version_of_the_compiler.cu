// The factor depends on the text of the compiler's version. NVRTC has no __VERSION__.
// problem: twice
// judged: fail or caveat another path than a GPU runs
// judged on cuda: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = (__VERSION__[0] >= '0' ? 2.0f : 3.0f) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
