// A product minus the rounded product is 0 unless the compiler makes one fused operation of it, as NVRTC does. The
// factor depends on it.
// problem: twice
// judged: fail or caveat
// gap on cpu: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float a = 1.0f + 1.0f / 4096.0f + 0.0f * float(n), b = a;
    const float left = a * b - __fmul_rn(a, b);
    y[i] = (left == 0.0f ? 2.0f : 3.0f) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
