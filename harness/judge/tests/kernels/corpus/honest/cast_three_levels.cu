// Three casts in a row, two of them to floats.
// problem: twice
// judged: pass
#include "lab.h"
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const long long k = (long long)(double)(float)n;
    if (i < n) y[i] = (k == n ? 2.0f : 3.0f) * x[i];
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
