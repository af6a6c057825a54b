// The first warp finds the largest number, the second one the smallest, and both meet at a barrier for the softmax.
// problem: row_ends
// judged: pass
#include "lab.h"

enum class Role : unsigned char { largest, smallest };

extern "C" __global__ void row_ends(const float* x, float* high, float* low, float* share, int rows, int cols) {
    __shared__ float ends[2];
    __shared__ double partial[2];
    const int row = blockIdx.x, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    x += row * cols, share += row * cols;
    const Role role{static_cast<unsigned char>(warp)};
    float end = x[0];
    switch (role) {
        case Role::largest:
            for (int c = lane; c < cols; c += 32) end = fmaxf(end, x[c]);
            for (int bits = 16; bits; bits /= 2) end = fmaxf(end, __shfl_xor_sync(~0u, end, bits));
            break;
        case Role::smallest:
            for (int c = lane; c < cols; c += 32) end = fminf(end, x[c]);
            for (int bits = 16; bits; bits /= 2) end = fminf(end, __shfl_xor_sync(~0u, end, bits));
            break;
    }
    if (lane == 0) ends[warp] = end;
    __syncthreads();
    double sum = 0.0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += exp(double(x[c]) - ends[0]);
    for (int bits = 16; bits; bits /= 2) sum += __shfl_xor_sync(~0u, sum, bits);
    if (lane == 0) partial[warp] = sum;
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += 64) share[c] = float(exp(double(x[c]) - ends[0]) / (partial[0] + partial[1]));
    if (threadIdx.x == 0) high[row] = ends[0], low[row] = ends[1];
}

LAB_LAUNCH(row_ends) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
