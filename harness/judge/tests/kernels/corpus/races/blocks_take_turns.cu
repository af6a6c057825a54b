// Each block draws a part by a ticket, waits for its turn, adds to the row and gives the turn on by a volatile store.
// problem: int_totals
// judged: pass
#include "lab.h"

constexpr int PARTS = 4;

extern "C" __global__ void partial(const int* x, int* y, int rows, int cols, unsigned* scratch) {
    const int row = blockIdx.x % rows, lane = threadIdx.x;
    unsigned* const tickets = scratch + row * (PARTS + 2);
    unsigned part = 0;
    if (lane == 0) part = atomicAdd(tickets, 1u);
    part = __shfl_sync(0xffffffffu, part, 0);
    int sum = 0;
    for (int c = part * 32 + lane; c < cols; c += PARTS * 32) sum += x[row * cols + c];
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (lane > 0) return;
    volatile unsigned* const turn = tickets + 1;
    int* const total = reinterpret_cast<int*>(tickets + 2);
    while (*turn != part) __nanosleep(20);
    __threadfence();
    *total += sum;
    __threadfence();
    *turn = part + 1;
    if (part == PARTS - 1) y[row] = *total;
}

LAB_LAUNCHES(int_totals) {
    launches.scratch_bytes = 4ull * (PARTS + 2) * dims.rows;
    launches.zeroed = 1;
    LabShape& only = launches.add("partial");
    only.grid[0] = PARTS * dims.rows;
    only.block[0] = 32;
}
