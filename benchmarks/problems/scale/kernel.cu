// Scale: y[i] = a * x[i], one cell per thread.
#include "lab.h"

constexpr int THREADS = 256;

extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

LAB_LAUNCH(scale) {
    launch.grid[0] = (dims.n + THREADS - 1) / THREADS;
    launch.block[0] = THREADS;
}
