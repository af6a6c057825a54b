// The softmax of each row by CUB's reduction of a block, whose memory both uses share.
// problem: shares
// judged: pass
#include "lab.h"

#include <cmath>
#include <cub/block/block_reduce.cuh>
#include <cuda/functional>

using Reduce = cub::BlockReduce<float, 128>;

extern "C" __global__ void shares(const float* x, float* y, int rows, int cols) {
    __shared__ typename Reduce::TempStorage temp;
    __shared__ float of_row;
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    float most = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += 128) most = fmaxf(most, x[c]);
    most = Reduce(temp).Reduce(most, cuda::maximum<>{});
    if (threadIdx.x == 0) of_row = most;
    __syncthreads();
    most = of_row;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) sum += expf(x[c] - most);
    sum = Reduce(temp).Sum(sum);
    __syncthreads();
    if (threadIdx.x == 0) of_row = sum;
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += 128) y[c] = expf(x[c] - most) / of_row;
}

LAB_LAUNCH(shares) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
