// Swaps a double in shared memory. CUDA has atomicExch for float, int and 64-bit integers, but not for double.
// problem: tensor
// judged: no build
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    __shared__ double largest;
    if (lane == 0) {
        double best = x[0];
        for (int c = 1; c < cols; c++) best = fmax(best, double(x[c]));
        atomicExch(&largest, best);
    }
    __syncthreads();
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - float(largest);
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
