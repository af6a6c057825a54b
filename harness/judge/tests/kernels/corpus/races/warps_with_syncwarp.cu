// A tree of sums in a warp, with __syncwarp behind every step and a barrier for the warps of the block.
// problem: int_totals
// judged: pass
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int sums[128];
    int sum = 0;
    for (int c = lane; c < cols; c += 128) sum += x[c];
    sums[lane] = sum;
    __syncthreads();
    if (lane < 32) {
        int mine = sums[lane] + sums[lane + 32] + sums[lane + 64] + sums[lane + 96];
        sums[lane] = mine;
        __syncwarp();
        for (int step = 16; step > 0; step /= 2) {
            if (lane < step) mine += sums[lane + step];
            __syncwarp();
            if (lane < step) sums[lane] = mine;
            __syncwarp();
        }
    }
    if (lane == 0) y[row] = sums[0];
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
