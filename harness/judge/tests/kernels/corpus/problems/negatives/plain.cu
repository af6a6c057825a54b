// The plain kernel of this problem.
#include "lab.h"

extern "C" __global__ void negatives(const float* x, int* y, int rows, int cols) {
    const int row = blockIdx.x;
    int count = 0;
    for (int c = 0; c < cols; c++) count += x[row * cols + c] < 0.0f;
    y[row] = count;
}

LAB_LAUNCH(negatives) {
    launch.grid[0] = dims.rows;
}
