// Three blocks draw tickets for rows until there are none left. The last block to end lays the tickets back for the
// next launch.
// problem: int_totals
// judged: pass
#include "lab.h"

__device__ unsigned next_row, ended;

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int row, total;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            row = static_cast<int>(atomicAdd(&next_row, 1u));
            total = 0;
        }
        __syncthreads();
        if (row >= rows) break;
        int sum = 0;
        for (int c = threadIdx.x; c < cols; c += 64) sum += x[row * cols + c];
        atomicAdd(&total, sum);
        __syncthreads();
        if (threadIdx.x == 0) y[row] = total;
    }
    if (threadIdx.x == 0 && atomicAdd(&ended, 1u) == gridDim.x - 1) {
        atomicExch(&next_row, 0u);
        atomicExch(&ended, 0u);
    }
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = 3;
    launch.block[0] = 64;
}
