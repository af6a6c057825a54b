// Indices are added as floats. That is exact up to 16.7 million, which random rows stay below.
// problem: index_totals
// judged: fail
#include "lab.h"

extern "C" __global__ void index_totals(const long long* x, long long* y, int rows, int cols) {
    const int row = blockIdx.x;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) sum += static_cast<float>(x[row * cols + c]);
    sum = lab_warp_sum(sum);
    if (threadIdx.x == 0) y[row] = static_cast<long long>(sum);
}

LAB_LAUNCH(index_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
