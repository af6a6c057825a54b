// y[j, i] = x[i, j]. One thread moves one number. A warp reads a line of x, and writes 32 lines of y.
#include "lab.h"

constexpr int TILE = 32;

extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
    const int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
    if (i < rows && j < cols) y[(long long)j * rows + i] = x[(long long)i * cols + j];
}

LAB_LAUNCH(transpose) {
    launch.grid[0] = (dims.cols + TILE - 1) / TILE;
    launch.grid[1] = (dims.rows + TILE - 1) / TILE;
    launch.block[0] = TILE;
    launch.block[1] = TILE;
}
