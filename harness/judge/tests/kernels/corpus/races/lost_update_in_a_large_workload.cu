// Rows of more than 4096 columns are added up without an atomic. Only a workload takes this path that is too large to
// watch all of its accesses.
// problem: long_totals
// judged: fail by races
// judged on cuda: fail
#include "lab.h"

extern "C" __global__ void long_totals(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int total;
    if (lane == 0) total = 0;
    __syncthreads();
    int sum = 0;
    for (int c = lane; c < cols; c += 128) sum += x[c];
    if (cols > 4096) total += sum;
    else atomicAdd(&total, sum);
    __syncthreads();
    if (lane == 0) y[row] = total;
}

LAB_LAUNCH(long_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
