// A row is copied to shared memory and searched up to the next multiple of 32. A comparison with NaN is false, but
// the cells behind the row hold anything.
// problem: tensor
// judged: fail
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    extern __shared__ float cells[];
    const int padded = (cols + 31) / 32 * 32;
    for (int c = lane; c < cols; c += 32) cells[c] = x[c];
    __syncthreads();
    float largest = cells[0];
    for (int c = 0; c < padded; c++) if (cells[c] > largest) largest = cells[c];
    for (int c = lane; c < cols; c += 32) y[c] = cells[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
    launch.shared_bytes = (dims.cols + 31) / 32 * 32 * 4;
}
