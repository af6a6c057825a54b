// Threads draw slots from a volatile counter, and leave their sums there.
// problem: int_totals
// judged: fail
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ volatile int next;
    __shared__ int sums[64];
    if (threadIdx.x == 0) next = 0;
    sums[threadIdx.x] = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    const int slot = next;
    next = slot + 1;
    sums[slot] = sum;
    __syncthreads();
    if (threadIdx.x > 0) return;
    int total = 0;
    for (int k = 0; k < 64; k++) total += sums[k];
    y[blockIdx.x] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
