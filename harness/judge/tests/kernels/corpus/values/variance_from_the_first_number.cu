// The variance in one pass, of what is left after the first number of the row. That is exact enough: even where the
// first number lies far from all others, its own distance makes the variance large.
// problem: variance
// judged: pass
#include "lab.h"

extern "C" __global__ void variance(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x;
    const float first = x[row * cols];
    float sum = 0.0f, squares = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) {
        const float v = x[row * cols + c] - first;
        sum += v;
        squares += v * v;
    }
    const float mean = lab_warp_sum(sum) / cols;
    squares = lab_warp_sum(squares) / cols;
    if (threadIdx.x == 0) y[row] = squares - mean * mean;
}

LAB_LAUNCH(variance) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
