// Four warps store their largest number, and the block then takes fmaxf over eight cells. fmaxf swallows a NaN, but
// four of the cells hold anything.
// problem: tensor
// judged: fail
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    __shared__ float warps[8];
    float largest = x[0];
    for (int c = lane; c < cols; c += 128) largest = fmaxf(largest, x[c]);
    for (int bits = 16; bits > 0; bits /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, bits));
    if (lane % 32 == 0) warps[lane / 32] = largest;
    __syncthreads();
    for (int warp = 0; warp < 8; warp++) largest = fmaxf(largest, warps[warp]);
    for (int c = lane; c < cols; c += 128) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
