// The last steps of a sum run in one warp on volatile shared memory, without __syncwarp. That was right only before
// Volta.
// problem: int_totals
// judged: fail
// judged on cuda: pass
// held out: fail by racecheck_findings
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ volatile int sums[64];
    int sum = 0;
    for (int c = lane; c < cols; c += 64) sum += x[c];
    sums[lane] = sum;
    __syncthreads();
    if (lane < 32) {
        sums[lane] = sums[lane] + sums[lane + 32];
        for (int step = 16; step > 0; step /= 2) sums[lane] = sums[lane] + sums[lane + step];
    }
    if (lane == 0) y[row] = sums[0];
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
