// Each thread adds the number of its right neighbour to its own, in place and with no barrier between. The neighbour
// may have changed its number.
// problem: int_totals
// judged: fail
// judged on cuda: pass
// held out: fail by racecheck_findings
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int sums[129];
    int sum = 0;
    for (int c = lane; c < cols; c += 128) sum += x[c];
    sums[lane] = sum;
    if (lane == 0) sums[128] = 0;
    __syncthreads();
    if (lane % 2 == 0) sums[lane] += sums[lane + 1];
    else sums[lane] = 0;
    __syncthreads();
    if (lane == 0) {
        int total = 0;
        for (int k = 0; k < 128; k++) total += sums[k];
        y[row] = total;
    }
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
