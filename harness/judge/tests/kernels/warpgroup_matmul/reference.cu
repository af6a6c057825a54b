// What is right: one thread a result, added up in double.
#include "lab.h"
#include <cuda_fp16.h>

extern "C" __global__ void matmul(const __half* a, const __half* b, float* c, int m, int n, int k) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m * n) return;
    double sum = 0;
    for (int j = 0; j < k; j++) sum += double(__half2float(a[i / n * k + j])) * __half2float(b[i % n * k + j]);
    c[i] = float(sum);
}

LAB_LAUNCH(matmul) {
    launch.grid[0] = (dims.m * dims.n + 127) / 128;
    launch.block[0] = 128;
}
