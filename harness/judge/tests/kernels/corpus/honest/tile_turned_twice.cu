// A tile goes through shared memory with its rows as columns, once there and once back. A column more than needed keeps
// the banks apart.
// problem: columns
// judged: pass
#include "lab.h"

struct Tile {
    float cell[16][17];
};

extern "C" __global__ void columns(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    __shared__ Tile there, back;
    const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    const bool inside = r < rows && c < cols;
    there.cell[threadIdx.x][threadIdx.y] = inside ? x[r * cols + c] : 0.0f;
    __syncthreads();
    const float turned = there.cell[threadIdx.y][threadIdx.x];
    back.cell[threadIdx.x][threadIdx.y] = turned + turned;
    __syncthreads();
    if (inside) y[r * cols + c] = back.cell[threadIdx.y][threadIdx.x];
}

LAB_LAUNCH(columns) {
    launch.grid[0] = (dims.cols + 15) / 16;
    launch.grid[1] = (dims.rows + 15) / 16;
    launch.block[0] = 16;
    launch.block[1] = 16;
}
