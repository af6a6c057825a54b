// Lanes of a warp store to shared memory and read the cells of other lanes at once. Lanes do not run in step.
// problem: int_totals
// judged: fail
// judged on cuda: pass
// held out: fail by racecheck_findings
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int sums[32];
    int sum = 0;
    for (int c = lane; c < cols; c += 32) sum += x[c];
    sums[lane] = sum;
    int total = 0;
    for (int k = 0; k < 32; k++) total += sums[k];
    if (lane == 31) y[row] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
