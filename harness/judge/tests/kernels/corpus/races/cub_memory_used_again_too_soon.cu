// The memory of CUB's reduction is used a second time without a barrier between the two.
// problem: shares
// judged: fail
#include "lab.h"

#include <cmath>
#include <cub/block/block_reduce.cuh>
#include <cuda/functional>

using Reduce = cub::BlockReduce<float, 128, cub::BLOCK_REDUCE_RAKING>;

extern "C" __global__ void shares(const float* x, float* y, int rows, int cols) {
    __shared__ typename Reduce::TempStorage temp;
    __shared__ float most_of_row, sum_of_row;
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float most = -INFINITY, least = INFINITY;
    for (int c = threadIdx.x; c < cols; c += 128) {
        most = fmaxf(most, x[c]);
        least = fminf(least, x[c]);
    }
    most = Reduce(temp).Reduce(most, cuda::maximum<>{});
    least = Reduce(temp).Reduce(least, cuda::minimum<>{});
    if (threadIdx.x == 0) most_of_row = fmaxf(most, least);
    __syncthreads();
    most = most_of_row;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) sum += expf(x[c] - most);
    sum = Reduce(temp).Sum(sum);
    if (threadIdx.x == 0) sum_of_row = sum;
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += 128) y[c] = expf(x[c] - most) / sum_of_row;
}

LAB_LAUNCH(shares) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
