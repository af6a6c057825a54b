// The kernel asks of which memory a pointer is, and promises that it is so.
// problem: twice
// judged: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __shared__ float mine[128];
    mine[threadIdx.x] = x[i];
    __builtin_assume(i >= 0);
    y[i] = __isGlobal(x) && __isShared(mine) && !__isShared(y) ? 2.0f * mine[threadIdx.x] : 0.0f;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
