// The reference: its results are what is right. One thread per cell, the sum in f64.
#include "lab.h"

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    const long long cell = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (cell >= (long long)m * n) return;
    const long long row = cell / n, col = cell % n;
    double sum = 0;
    for (int i = 0; i < k; i++) sum += (double)a[row * k + i] * (double)b[(long long)i * n + col];
    c[cell] = (float)sum;
}

LAB_LAUNCH(matmul) {
    launch.grid[0] = ((long long)dims.m * dims.n + 127) / 128;
    launch.block[0] = 128;
}
