// Dynamic shared memory holds the floats of a row, and doubles right behind them. With an odd number of columns the
// doubles are at no multiple of 8.
// problem: two_pass
// judged: crash
#include "lab.h"

extern "C" __global__ void row_sums(const float* x, float* y, int rows, int cols) {
    extern __shared__ float cells[];
    double* sums = reinterpret_cast<double*>(cells + cols);
    const int row = blockIdx.x, lane = threadIdx.x;
    for (int c = lane; c < cols; c += 32) cells[c] = x[row * cols + c];
    __syncthreads();
    double sum = 0.0;
    for (int c = lane; c < cols; c += 32) sum += cells[c];
    sums[lane] = sum;
    __syncthreads();
    if (lane == 0) {
        double all = 0.0;
        for (int k = 0; k < 32; k++) all += sums[k];
        y[row] = float(all);
    }
}

LAB_LAUNCH(row_sums) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
    launch.shared_bytes = 4 * dims.cols + 8 * 32;
}
