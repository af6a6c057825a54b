// Threads add to a volatile word of the output. Fences on both sides make no atomic of it.
// problem: int_totals
// judged: fail
// says on cpu: may undo what the other stored
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    volatile int* total = y + blockIdx.x;
    if (threadIdx.x == 0) *total = 0;
    __threadfence();
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    __threadfence();
    *total += sum;
    __threadfence();
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
