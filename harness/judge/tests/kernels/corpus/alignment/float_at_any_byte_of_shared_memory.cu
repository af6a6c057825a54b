// Each thread keeps one byte and a float behind it, five bytes a thread. Three of four floats are at no multiple of
// 4.
// problem: twice
// judged: crash
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ alignas(16) unsigned char packed[128 * 5];
    unsigned char* mine = packed + 5 * threadIdx.x;
    if (i < n) {
        mine[0] = 2;
        *reinterpret_cast<float*>(mine + 1) = x[i];
    }
    __syncthreads();
    if (i < n) y[i] = float(mine[0]) * *reinterpret_cast<const float*>(mine + 1);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
