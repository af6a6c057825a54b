// A block of 8 x 12 threads takes a row; the grid has a third dimension.
// problem: tensor
// judged: pass
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.z, rank = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    x += row * cols;
    y += row * cols;
    __shared__ float tops[12][8];
    float largest = x[0];
    for (int c = rank; c < cols; c += threads) largest = fmaxf(largest, x[c]);
    tops[threadIdx.y][threadIdx.x] = largest;
    __syncthreads();
    for (auto& line : tops)
        for (float v : line) largest = v > largest ? v : largest;
    for (int c = rank; c < cols; c += threads) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[2] = dims.rows;
    launch.block[0] = 8;
    launch.block[1] = 12;
}
