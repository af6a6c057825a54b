// The reference: its results are what is right. The product in f64, one thread for 32 cells.
#include "lab.h"

extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
    const long long first = 32 * (blockIdx.x * (long long)blockDim.x + threadIdx.x);
    for (long long i = first; i < first + 32 && i < n; i++) y[i] = (float)((double)a * (double)x[i]);
}

LAB_LAUNCH(scale) {
    launch.grid[0] = (dims.n + 1023) / 1024;
    launch.block[0] = 32;
}
