// Rows pass through two buffers in turn. In the first round the kernel takes fmaxf with the other buffer, which
// nothing has filled.
// problem: tensor
// judged: fail
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    __shared__ float buffers[2][32];
    float largest = x[0];
    int round = 0;
    for (int from = 0; from < cols; from += 32, round ^= 1) {
        buffers[round][lane] = from + lane < cols ? x[from + lane] : x[0];
        __syncwarp();
        for (int k = 0; k < 32; k++) largest = fmaxf(largest, fmaxf(buffers[round][k], buffers[round ^ 1][k]));
        __syncwarp();
    }
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
