// Running counts by CUB's scan of a block, one tile after the other.
// problem: prefix
// judged: pass
#include "lab.h"

#include <cub/block/block_scan.cuh>

using Scan = cub::BlockScan<int, 64>;

struct Before {
    int count = 0;
    __device__ int operator()(int of_tile) {
        const int before = count;
        count += of_tile;
        return before;
    }
};

extern "C" __global__ void prefix(const int* x, int* y, int rows, int cols) {
    __shared__ typename Scan::TempStorage temp;
    const int start = blockIdx.x * cols;
    Before before;
    for (int from = 0; from < cols; from += 128) {
        int values[2];
        for (int i = 0; i < 2; i++) {
            const int c = from + 2 * int(threadIdx.x) + i;
            values[i] = c < cols ? x[start + c] : 0;
        }
        Scan(temp).InclusiveSum(values, values, before);
        __syncthreads();
        for (int i = 0; i < 2; i++) {
            const int c = from + 2 * int(threadIdx.x) + i;
            if (c < cols) y[start + c] = values[i];
        }
    }
}

LAB_LAUNCH(prefix) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
