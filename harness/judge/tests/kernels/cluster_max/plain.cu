// Four blocks a row on a GPU, which read one another's shared memory; one block a row on the cpu device.
#include "lab.h"

#ifdef LAB_CPU
constexpr int BLOCKS = 1;
#else
constexpr int BLOCKS = 4;

// Waits for all threads of the cluster, and for what they stored in shared memory.
__device__ inline void sync_cluster() {
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

// Loads a float from the shared memory of another block of the cluster, from where this block has it.
__device__ inline float load_from(const float* shared, unsigned block) {
    unsigned own = static_cast<unsigned>(__cvta_generic_to_shared(shared)), there;
    float value;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(block));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there) : "memory");
    return value;
}
#endif
constexpr int THREADS = 128;

extern "C" __global__ void row_max(const float* x, float* y, int rows, int cols) {
    __shared__ float warps[THREADS / 32];
    __shared__ float largest_of_block;
    const int row = blockIdx.x / BLOCKS, part = blockIdx.x % BLOCKS;
    x += row * cols;
    float largest = x[0];
    for (int c = part * THREADS + threadIdx.x; c < cols; c += BLOCKS * THREADS) largest = fmaxf(largest, x[c]);
    for (int bits = 16; bits > 0; bits /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, bits));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = largest;
    __syncthreads();
    if (threadIdx.x == 0) largest_of_block = fmaxf(fmaxf(warps[0], warps[1]), fmaxf(warps[2], warps[3]));
#ifdef LAB_CPU
    if (threadIdx.x == 0) y[row] = largest_of_block;
#else
    sync_cluster();
    if (part == 0 && threadIdx.x == 0) {
        float all = largest_of_block;
        for (int other = 1; other < BLOCKS; other++) all = fmaxf(all, load_from(&largest_of_block, other));
        y[row] = all;
    }
    // No block ends while another one reads its shared memory.
    sync_cluster();
#endif
}

LAB_LAUNCH(row_max) {
    launch.grid[0] = dims.rows * BLOCKS;
    launch.block[0] = THREADS;
#ifndef LAB_CPU
    launch.cluster[0] = BLOCKS;
#endif
}
