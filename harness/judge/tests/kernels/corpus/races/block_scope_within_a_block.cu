// One warp stores a number and, behind a fence of the block, counts it by an atomic of the block. Another warp waits.
// problem: int_totals
// judged: pass
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int of_warp;
    __shared__ unsigned ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (threadIdx.x == 32) {
        of_warp = sum;
        __threadfence_block();
        atomicAdd_block(&ready, 1u);
    }
    if (threadIdx.x > 0) return;
    while (atomicAdd_block(&ready, 0u) == 0) __nanosleep(20);
    __threadfence_block();
    y[blockIdx.x] = sum + of_warp;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
