// The library's own reduction of a warp, with its function for the larger of two.
// problem: tensor
// judged: pass
#include "lab.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    float largest = x[0];
    for (int c = warp.thread_rank(); c < cols; c += 32) largest = fmaxf(largest, x[c]);
    largest = cg::reduce(warp, largest, cg::greater<float>());
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
