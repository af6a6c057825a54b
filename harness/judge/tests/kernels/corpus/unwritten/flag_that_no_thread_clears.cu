// A flag of shared memory says that a row holds a positive number. No thread clears it first, so it may be set by an
// earlier block.
// problem: tensor
// judged: fail
// gap on cpu: pass
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    __shared__ int positive;
    for (int c = lane; c < cols; c += 32) if (x[c] > 0.0f) positive = 1;
    __syncthreads();
    float largest = positive == 1 ? 0.0f : x[0];
    for (int c = 0; c < cols; c++) largest = fmaxf(largest, x[c]);
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
