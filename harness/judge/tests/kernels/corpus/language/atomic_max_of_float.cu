// Finds the largest number of a row with atomicMax of floats. CUDA has atomicMax for integers only.
// problem: tensor
// judged: no build
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    __shared__ float largest;
    if (lane == 0) largest = x[0];
    __syncthreads();
    for (int c = lane; c < cols; c += 32) atomicMax(&largest, x[c]);
    __syncthreads();
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
