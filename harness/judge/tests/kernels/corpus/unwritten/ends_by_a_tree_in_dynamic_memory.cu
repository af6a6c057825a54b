// A tree over 64 cells of dynamic shared memory finds both ends of a row. Only as many cells are written as the row has
// columns, and fmaxf and fminf drop a NaN.
// problem: row_ends
// judged: fail
#include "lab.h"

extern "C" __global__ void row_ends(const float* x, float* high, float* low, float* share, int rows, int cols) {
    extern __shared__ float cells[];
    float *const most = cells, *const least = cells + 64;
    const int row = blockIdx.x, t = threadIdx.x;
    x += row * cols;
    share += row * cols;
    for (int c = t; c < cols; c += 64) {
        most[t] = c < 64 ? x[c] : fmaxf(most[t], x[c]);
        least[t] = c < 64 ? x[c] : fminf(least[t], x[c]);
    }
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) {
            most[t] = fmaxf(most[t], most[t + half]);
            least[t] = fminf(least[t], least[t + half]);
        }
        __syncthreads();
    }
    float sum = 0.0f;
    for (int c = 0; c < cols; c++) sum += expf(x[c] - most[0]);
    for (int c = t; c < cols; c += 64) share[c] = expf(x[c] - most[0]) / sum;
    if (t == 0) high[row] = most[0], low[row] = least[0];
}

LAB_LAUNCH(row_ends) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
    launch.shared_bytes = 4 * 128;
}
