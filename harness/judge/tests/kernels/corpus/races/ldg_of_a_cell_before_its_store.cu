// A thread loads by __ldg what nobody has stored to, and stores to it later.
// problem: int_totals
// judged: pass
#include "lab.h"

constexpr int PARTS = 4;

extern "C" __global__ void partial(const int* x, int* y, int rows, int cols, int* scratch) {
    const int row = blockIdx.y, part = blockIdx.x, lane = threadIdx.x;
    int* parts = scratch + row * (PARTS + 1);
    int sum = 0;
    for (int c = part * 32 + lane; c < cols; c += PARTS * 32) sum += x[row * cols + c];
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (part > 0) {
        if (lane == 0) parts[part] = __ldg(parts + part) + 1;
        return;
    }
    for (int other = 1; other < PARTS; other++) {
        int more = 0;
        for (int c = other * 32 + lane; c < cols; c += PARTS * 32) more += x[row * cols + c];
        sum += __reduce_add_sync(0xffffffffu, more);
    }
    if (lane == 0) y[row] = sum;
}

LAB_LAUNCHES(int_totals) {
    launches.scratch_bytes = 4ull * (PARTS + 1) * dims.rows;
    launches.zeroed = 1;
    LabShape& only = launches.add("partial");
    only.grid[0] = PARTS;
    only.grid[1] = dims.rows;
    only.block[0] = 32;
}
