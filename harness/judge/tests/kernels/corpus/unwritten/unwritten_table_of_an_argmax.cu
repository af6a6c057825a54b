// Half of the lanes leave their best number in shared memory, and the search over all of them takes only those that
// are larger. NaN is not.
// problem: argmax
// judged: fail
#include "lab.h"

extern "C" __global__ void argmax(const float* x, int* at, int rows, int cols) {
    __shared__ float values[64];
    __shared__ int columns[64];
    x += blockIdx.x * cols;
    const int lane = threadIdx.x;
    int best = 0;
    for (int c = 1; c < cols && x[best] == x[best]; c++)
        if (x[c] > x[best] || x[c] != x[c]) best = c;
    values[lane] = x[best];
    columns[lane] = best;
    __syncthreads();
    int found = best;
    float value = x[best];
    for (int k = 0; k < 64; k++)
        if (values[k] > value) {
            value = values[k];
            found = columns[k];
        }
    if (lane == 0) at[blockIdx.x] = found;
}

LAB_LAUNCH(argmax) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
