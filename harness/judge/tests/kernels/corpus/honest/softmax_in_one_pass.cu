// Each lane keeps the largest number so far together with the sum relative to it, and lanes join such pairs.
// problem: row_ends
// judged: pass
#include "lab.h"

struct Running {
    float top, sum;
    __device__ Running& operator+=(Running other) {
        const float both = fmaxf(top, other.top);
        sum = sum * expf(top - both) + other.sum * expf(other.top - both);
        top = both;
        return *this;
    }
};

extern "C" __global__ void row_ends(const float* x, float* high, float* low, float* share, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    share += row * cols;
    Running all{x[0], 0.0f};
    float least = x[0];
    for (int c = lane; c < cols; c += 32) {
        all += Running{x[c], 1.0f};
        least = fminf(least, x[c]);
    }
    for (int bits = 16; bits > 0; bits /= 2) {
        all += Running{__shfl_xor_sync(0xffffffffu, all.top, bits), __shfl_xor_sync(0xffffffffu, all.sum, bits)};
        least = fminf(least, __shfl_xor_sync(0xffffffffu, least, bits));
    }
    for (int c = lane; c < cols; c += 32) share[c] = expf(x[c] - all.top) / all.sum;
    if (lane == 0) {
        high[row] = all.top;
        low[row] = least;
    }
}

LAB_LAUNCH(row_ends) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
