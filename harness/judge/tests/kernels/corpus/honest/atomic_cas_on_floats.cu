// The largest number is kept by compare and swap of the bits of floats.
// problem: tensor
// judged: pass
#include "lab.h"

__device__ int most_now(int* word) { return atomicOr(word, 0); }

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    __shared__ int most;
    if (lane == 0) most = __float_as_int(x[0]);
    __syncthreads();
    for (int c = lane; c < cols; c += 32) {
        int seen = most_now(&most);
        while (__int_as_float(seen) < x[c]) {
            const int before = seen;
            seen = atomicCAS(&most, before, __float_as_int(x[c]));
            if (seen == before) break;
        }
    }
    __syncthreads();
    const float largest = __int_as_float(most);
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
