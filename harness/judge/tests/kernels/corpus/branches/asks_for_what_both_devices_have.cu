// The kernel asks only for macros and headers that both devices have. The right branch runs on both.
// problem: twice
// judged: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#if defined(__CUDACC__) && __has_include(<cstdint>) && __cplusplus >= 201703L && defined(__has_builtin)
    y[i] = 2.0f * x[i];
#else
    y[i] = 3.0f * x[i];
#endif
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
