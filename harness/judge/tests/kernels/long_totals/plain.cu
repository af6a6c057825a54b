// The sum of the whole numbers of each row: a block a row, whose threads add to one word.
#include "lab.h"

extern "C" __global__ void long_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 256) sum += x[blockIdx.x * cols + c];
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}

LAB_LAUNCH(long_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 256;
}
