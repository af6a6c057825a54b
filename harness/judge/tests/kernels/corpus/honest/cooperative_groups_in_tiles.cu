// A block is divided in tiles of 16 lanes. Each tile reduces by shuffles, and the block joins two tiles through
// shared memory.
// problem: tensor
// judged: pass
#include "lab.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    __shared__ float tops[2];
    float largest = x[0];
    for (int c = block.thread_rank(); c < cols; c += block.size()) largest = fmaxf(largest, x[c]);
    for (int step = tile.size() / 2; step > 0; step /= 2) largest = fmaxf(largest, tile.shfl_down(largest, step));
    if (tile.thread_rank() == 0) tops[tile.meta_group_rank()] = largest;
    block.sync();
    largest = fmaxf(tops[0], tops[1]);
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
