// Value and column are one 64-bit key, and an atomicMax of keys finds the first largest column.
// problem: argmax
// judged: pass
#include "lab.h"

__device__ unsigned long long key_of(float value, int column) {
    unsigned bits = __float_as_uint(value + 0.0f);
    if (value != value) bits = 0x7fffffffu;
    bits = bits >> 31 ? ~bits : bits | 1u << 31;
    return static_cast<unsigned long long>(bits) << 32 | (0xffffffffu - unsigned(column));
}

extern "C" __global__ void argmax(const float* x, int* at, int rows, int cols) {
    __shared__ unsigned long long best;
    if (threadIdx.x == 0) best = 0ull;
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x) atomicMax(&best, key_of(x[blockIdx.x * cols + c], c));
    __syncthreads();
    if (threadIdx.x == 0) at[blockIdx.x] = int(0xffffffffu - unsigned(best));
}

LAB_LAUNCH(argmax) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
