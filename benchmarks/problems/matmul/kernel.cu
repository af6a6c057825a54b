// Matrix product: a block computes a tile of SIDE×SIDE cells, a thread one cell. Tiles of a and b are staged in shared
// memory.
#include "lab.h"

constexpr int SIDE = 32;

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[SIDE][SIDE];
    __shared__ float tile_b[SIDE][SIDE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * SIDE + y, col = blockIdx.x * SIDE + x;
    float sum = 0;
    for (int from = 0; from < k; from += SIDE) {
        tile_a[y][x] = row < m && from + x < k ? a[(long long)row * k + from + x] : 0.0f;
        tile_b[y][x] = from + y < k && col < n ? b[(long long)(from + y) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < SIDE; i++) sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    if (row < m && col < n) c[(long long)row * n + col] = sum;
}

LAB_LAUNCH(matmul) {
    launch.grid[0] = (dims.n + SIDE - 1) / SIDE;
    launch.grid[1] = (dims.m + SIDE - 1) / SIDE;
    launch.block[0] = SIDE;
    launch.block[1] = SIDE;
}
