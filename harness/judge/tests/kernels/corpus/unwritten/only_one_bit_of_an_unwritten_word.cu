// Bit 15 of a word that no thread writes decides whether a number is doubled or tripled.
// problem: twice
// judged: fail
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __shared__ unsigned words[128];
    y[i] = (words[threadIdx.x] & 0x8000u ? 3.0f : 2.0f) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
