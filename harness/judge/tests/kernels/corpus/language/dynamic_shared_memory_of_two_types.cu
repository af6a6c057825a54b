// Two functions declare dynamic shared memory under one name with two types. NVRTC refuses the second.
// problem: tensor
// judged: no build
#include "lab.h"

__device__ int first_bits() {
    extern __shared__ int cells[];
    return cells[0];
}

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    extern __shared__ float cells[];
    for (int c = lane; c < cols; c += 32) cells[c] = x[c];
    __syncthreads();
    float largest = cells[0];
    for (int c = 1; c < cols; c++) largest = fmaxf(largest, cells[c]);
    for (int c = lane; c < cols; c += 32) y[c] = cells[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
    launch.shared_bytes = 4 * dims.cols;
}
