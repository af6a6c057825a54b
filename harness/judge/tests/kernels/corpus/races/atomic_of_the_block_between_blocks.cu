// The last block to arrive adds the parts of all blocks. The counter's atomic has the scope of a block.
// problem: int_totals
// judged: fail
// judged on cuda: pass
// says on cpu: hold within its block only
#include "lab.h"

constexpr int PARTS = 4;

extern "C" __global__ void partial(const int* x, int* y, int rows, int cols, int* scratch) {
    const int row = blockIdx.y, part = blockIdx.x, lane = threadIdx.x;
    int* parts = scratch + row * (PARTS + 1);
    unsigned* arrived = reinterpret_cast<unsigned*>(parts + PARTS);
    int sum = 0;
    for (int c = part * 32 + lane; c < cols; c += PARTS * 32) sum += x[row * cols + c];
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (lane > 0) return;
    parts[part] = sum;
    __threadfence();
    if (atomicAdd_block(arrived, 1u) + 1 != PARTS) return;
    __threadfence();
    int total = 0;
    for (int k = 0; k < PARTS; k++) total += parts[k];
    y[row] = total;
}

LAB_LAUNCHES(int_totals) {
    launches.scratch_bytes = 4ull * (PARTS + 1) * dims.rows;
    launches.zeroed = 1;
    LabShape& only = launches.add("partial");
    only.grid[0] = PARTS;
    only.grid[1] = dims.rows;
    only.block[0] = 32;
}
