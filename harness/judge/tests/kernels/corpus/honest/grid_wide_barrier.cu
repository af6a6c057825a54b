// A cooperative launch of all rows: every block leaves its sum, the grid meets, and block 0 writes the results.
// problem: two_pass
// judged: pass
#include "lab.h"

#include <cooperative_groups.h>

extern "C" __global__ void sums(const float* x, float* y, int rows, int cols, double* scratch) {
    const auto grid = cooperative_groups::this_grid();
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        double sum = 0.0;
        for (int c = threadIdx.x; c < cols; c += 32) sum += x[row * cols + c];
        for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_down_sync(0xffffffffu, sum, bits);
        if (threadIdx.x == 0) scratch[row] = sum;
    }
    grid.sync();
    if (grid.thread_rank() < static_cast<unsigned long long>(rows)) y[grid.thread_rank()] = float(scratch[grid.thread_rank()]);
}

LAB_LAUNCHES(row_sums) {
    launches.scratch_bytes = 8ull * dims.rows;
    LabShape& only = launches.add("sums");
    only.grid[0] = 4;
    only.block[0] = 32;
    only.cooperative = 1;
}
