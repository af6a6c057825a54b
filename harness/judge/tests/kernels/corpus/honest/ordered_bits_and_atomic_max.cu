// Floats become unsigned words of the same order, and an atomicMax of words finds the largest.
// problem: tensor
// judged: pass
#include "lab.h"

__device__ unsigned word_of(float v) {
    const unsigned bits = __float_as_uint(v);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ float float_of(unsigned word) {
    return __uint_as_float(word & 0x80000000u ? word ^ 0x80000000u : ~word);
}

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    __shared__ unsigned most;
    if (lane == 0) most = 0u;
    __syncthreads();
    for (int c = lane; c < cols; c += 32) atomicMax(&most, word_of(x[c]));
    __syncthreads();
    const float largest = float_of(most);
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
