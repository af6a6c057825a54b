// One pass adds up numbers and squares in single precision by fused steps, and only the last difference is in double
// precision. With a large mean the sums have lost the spread before.
// problem: variance
// judged: fail
#include "lab.h"

extern "C" __global__ void variance(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x;
    float sum = 0.0f, squares = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) {
        const float v = x[row * cols + c];
        sum += v;
        squares = fmaf(v, v, squares);
    }
    const double mean = static_cast<double>(lab_warp_sum(sum)) / cols;
    const double square = static_cast<double>(lab_warp_sum(squares)) / cols;
    if (threadIdx.x == 0) y[row] = static_cast<float>(fmax(square - mean * mean, 0.0));
}

LAB_LAUNCH(variance) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
