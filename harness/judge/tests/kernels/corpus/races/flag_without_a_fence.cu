// One warp stores a number and then a flag; another warp polls the flag and reads the number. No fence orders the two
// stores.
// problem: int_totals
// judged: fail
// judged on cuda: pass
// held out: fail by racecheck_findings
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int sum_of_warp;
    __shared__ volatile int ready;
    if (lane == 0) ready = 0;
    __syncthreads();
    int sum = 0;
    for (int c = lane; c < cols; c += 64) sum += x[c];
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (lane == 32) {
        sum_of_warp = sum;
        ready = 1;
    }
    if (lane == 0) {
        while (ready == 0) __nanosleep(20);
        y[row] = sum + sum_of_warp;
    }
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
