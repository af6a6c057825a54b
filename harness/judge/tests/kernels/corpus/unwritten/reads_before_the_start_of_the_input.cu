// The first row's search begins two cells before the input. A comparison with NaN is false, but other numbers may lie
// there.
// problem: tensor
// judged: fail
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    float largest = x[0];
    for (int c = row == 0 ? -2 : 0; c < cols; c++) if (x[c] > largest) largest = x[c];
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
