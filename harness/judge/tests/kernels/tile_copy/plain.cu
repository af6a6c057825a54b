// A block a tile of 32 × 32. On a GPU one thread has TMA copy the tile, and all wait for it at an mbarrier.
#include "lab.h"

constexpr int TILE = 32;

#ifdef LAB_CPU
extern "C" __global__ void twice(const float* x, float* y, int rows, int cols) {
    const int column = blockIdx.x * TILE + threadIdx.x;
    for (int r = 0; r < TILE; r++) {
        const int row = blockIdx.y * TILE + r;
        if (row < rows && column < cols) y[row * cols + column] = 2.0f * x[row * cols + column];
    }
}
#else
extern "C" __global__ void twice(const float*, float* y, int rows, int cols, const __grid_constant__ LabTensorMap map) {
    __shared__ alignas(128) float tile[TILE][TILE];
    __shared__ alignas(8) unsigned long long arrived;
    const unsigned barrier = static_cast<unsigned>(__cvta_generic_to_shared(&arrived));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[0][0]));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(unsigned(sizeof tile)));
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                to),
            "l"(&map), "r"(blockIdx.x * TILE), "r"(blockIdx.y * TILE), "r"(barrier)
            : "memory");
    }
    __syncthreads();
    unsigned done = 0;
    while (!done) {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
            : "=r"(done)
            : "r"(barrier)
            : "memory");
    }
    const int column = blockIdx.x * TILE + threadIdx.x;
    for (int r = 0; r < TILE; r++) {
        const int row = blockIdx.y * TILE + r;
        if (row < rows && column < cols) y[row * cols + column] = 2.0f * tile[r][threadIdx.x];
    }
}
#endif

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.cols + TILE - 1) / TILE;
    launch.grid[1] = (dims.rows + TILE - 1) / TILE;
    launch.block[0] = TILE;
#ifndef LAB_CPU
    LabMapRequest& map = launch.tensor_map("x");
    map.box[0] = TILE;
    map.box[1] = TILE;
#endif
}
