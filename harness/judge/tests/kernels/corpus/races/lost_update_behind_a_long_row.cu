// Rows of more than 2048 columns end with an addition without an atomic. It comes behind more accesses than the race
// detector looks at in that launch: first the block reads the row again and again.
// problem: long_totals
// judged: fail or caveat ran in no case that the race detector watched
// judged on cuda: fail
// says on cpu: line 19 of kernel.cu ran in no case that the race detector watched
#include "lab.h"

extern "C" __global__ void long_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < 50; round++)
        for (int c = threadIdx.x; c < cols; c += 256) sum += (round % 2 ? -1 : 1) * x[blockIdx.x * cols + c];
    for (int c = threadIdx.x; c < cols; c += 256) sum += x[blockIdx.x * cols + c];
    __syncthreads();
    if (cols > 2048)
        total += sum;
    else
        atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}

LAB_LAUNCH(long_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 256;
}
