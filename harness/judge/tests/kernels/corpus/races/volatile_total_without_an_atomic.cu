// Threads add to a volatile word of shared memory. Volatile makes no atomic of an addition.
// problem: int_totals
// judged: fail
// says on cpu: may undo what the other stored
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ volatile int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    total = total + sum;
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
