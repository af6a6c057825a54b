// A shuffle stands between the stores to shared memory and the loads of other lanes. It does not order them.
// problem: int_totals
// judged: fail by races
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
    const int first = __shfl_sync(0xffffffffu, sum, 0);
    int total = first;
    for (int k = 1; k < 32; k++) total += sums[k];
    if (lane == 0) y[row] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
