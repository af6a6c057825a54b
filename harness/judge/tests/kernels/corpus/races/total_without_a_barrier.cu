// One thread adds up what the others write to shared memory, without a barrier: the totals are wrong, and the race that makes
// them so is told with its line.
// problem: int_totals
// device: cpu (on a GPU the other warp may be in time)
// judged: fail by races
// says: kernel.cu(16): error: [race]
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int part[64];
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    part[threadIdx.x] = sum;
    if (threadIdx.x == 0) {
        sum = 0;
        for (int i = 0; i < 64; i++) sum += part[i];
        y[blockIdx.x] = sum;
    }
}
LAB_LAUNCH(int_totals) { launch.grid[0] = dims.rows; launch.block[0] = 64; }
