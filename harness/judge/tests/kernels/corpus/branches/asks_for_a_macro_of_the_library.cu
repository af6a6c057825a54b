// The kernel asks whether EOF is defined, and includes no header for it. NVRTC does not define it. On a GPU the other
// branch runs, which is wrong.
// problem: twice
// judged: fail or caveat another path than a GPU runs
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#ifdef EOF
    y[i] = 2.0f * x[i];
#else
    y[i] = 3.0f * x[i];
#endif
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
