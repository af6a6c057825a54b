// Blocks leave their sums in the scratch buffer, and the last one to arrive adds them, with fences and a volatile
// load.
// problem: two_pass
// judged: pass
#include "lab.h"

extern "C" __global__ void sums(const float* x, float* y, int rows, int cols, double* scratch) {
    const int row = blockIdx.y, parts = gridDim.x;
    double* const mine = scratch + row * (parts + 1);
    unsigned* const tickets = reinterpret_cast<unsigned*>(mine + parts);
    double sum = 0.0;
    for (int c = blockIdx.x * 32 + threadIdx.x; c < cols; c += 32 * parts) sum += x[row * cols + c];
    for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bits);
    unsigned ticket = 0;
    if (threadIdx.x == 0) {
        mine[blockIdx.x] = sum;
        __threadfence();
        ticket = atomicInc(tickets, parts - 1);
        __threadfence();
    }
    if (__shfl_sync(0xffffffffu, ticket, 0) != unsigned(parts) - 1) return;
    if (threadIdx.x == 0) {
        double all = 0.0;
        for (int part = 0; part < parts; ++part) all += static_cast<volatile double*>(mine)[part];
        y[row] = float(all);
    }
}

LAB_LAUNCHES(row_sums) {
    const unsigned parts = 7;
    launches.scratch_bytes = 8ull * (parts + 1) * dims.rows;
    launches.zeroed = 1;
    auto& only = launches.add("sums");
    only.grid[0] = parts, only.grid[1] = dims.rows, only.block[0] = 32;
}
