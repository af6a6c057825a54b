// Lanes divide by zero, and the lowest number by -1, and take another number then. A GPU goes on behind such a division.
// problem: int_totals
// judged: pass
#include "lab.h"

__device__ __noinline__ int quotient(int a, int b) { return a / b; }
__device__ __noinline__ int remainder_of(int a, int b) { return a % b; }
__device__ __noinline__ long long wide(long long a, long long b) { return a / b + a % b; }

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) {
        const int value = x[blockIdx.x * cols + c], by = c % 3;
        const int whole = quotient(value, by), rest = remainder_of(value, by);
        const long long both = wide(value, by);
        const bool is_used = by != 0 && both == whole + rest;
        sum += is_used ? whole * by + rest : value;
    }
    const int lowest = static_cast<int>(0x80000000u) + (cols < 0);
    if (quotient(lowest, -1 - (cols < 0)) != lowest) sum += 1;
    if (remainder_of(lowest, -1 - (cols < 0)) != 0) sum += 1;
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
