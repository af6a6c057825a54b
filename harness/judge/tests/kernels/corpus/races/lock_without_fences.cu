// Each thread adds to a plain word while it holds a lock. No fence orders the word and the lock.
// problem: int_totals
// judged: fail
// judged on cuda: pass
// held out: fail by racecheck_findings
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int total, held;
    if (threadIdx.x == 0) total = held = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    for (bool is_done = false; !is_done;) {
        if (atomicCAS(&held, 0, 1) != 0) continue;
        total += sum;
        atomicExch(&held, 0);
        is_done = true;
    }
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
