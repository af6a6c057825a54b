// A thread prints and traps if its row is empty, which never happens.
// problem: tensor
// judged: pass
#include "lab.h"

#include <cassert>
#include <cstdio>

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    if (cols <= 0) {
        printf("row %d of block %u has no columns\n", row, blockIdx.x);
        __trap();
    }
    assert(cols > 0 && "a row has columns");
    float largest = x[0];
    for (int c = 0; c < cols; ++c) largest = x[c] > largest ? x[c] : largest;
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
