// Shuffles work in groups of eight lanes, each of which finds a largest number. Lanes of a group do not see the
// others.
// problem: tensor
// judged: pass
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    float largest = x[0];
    for (int c = lane; c < cols; c += 32) largest = fmaxf(largest, x[c]);
    for (int step = 4; step > 0; step /= 2) largest = fmaxf(largest, __shfl_down_sync(0xffffffffu, largest, step, 8));
    float all = __shfl_sync(0xffffffffu, largest, 0, 32);
    for (int group = 8; group < 32; group += 8) all = fmaxf(all, __shfl_sync(0xffffffffu, largest, group));
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - all;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
