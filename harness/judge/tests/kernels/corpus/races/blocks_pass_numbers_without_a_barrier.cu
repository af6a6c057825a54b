// Each block stores its part of a row in the output, and the last block of a row adds up what it finds there. No
// fence, flag or barrier stands between.
// problem: int_totals
// judged: fail
#include "lab.h"

constexpr int PARTS = 4;

extern "C" __global__ void partial(const int* x, int* y, int rows, int cols, int* scratch) {
    const int row = blockIdx.y, part = blockIdx.x, lane = threadIdx.x;
    int sum = 0;
    for (int c = part * 32 + lane; c < cols; c += PARTS * 32) sum += x[row * cols + c];
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (lane > 0) return;
    scratch[row * PARTS + part] = sum;
    if (part == PARTS - 1) {
        int total = 0;
        for (int k = 0; k < PARTS; k++) total += scratch[row * PARTS + k];
        y[row] = total;
    }
}

LAB_LAUNCHES(int_totals) {
    launches.scratch_bytes = 4ull * PARTS * dims.rows;
    LabShape& only = launches.add("partial");
    only.grid[0] = PARTS;
    only.grid[1] = dims.rows;
    only.block[0] = 32;
}
