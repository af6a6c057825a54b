// y[j, i] = x[i, j]. A block moves a tile. Its rows are one longer, so that a column is in 32 banks.
#include "lab.h"

constexpr int TILE = 32;

extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
    __shared__ float tile[TILE][TILE + 1];
    const int i = blockIdx.y * TILE, j = blockIdx.x * TILE, row = threadIdx.y, col = threadIdx.x;
    if (i + row < rows && j + col < cols) tile[row][col] = x[(long long)(i + row) * cols + j + col];
    __syncthreads();
    if (j + row < cols && i + col < rows) y[(long long)(j + row) * rows + i + col] = tile[col][row];
}

LAB_LAUNCH(transpose) {
    launch.grid[0] = (dims.cols + TILE - 1) / TILE;
    launch.grid[1] = (dims.rows + TILE - 1) / TILE;
    launch.block[0] = TILE;
    launch.block[1] = TILE;
}
