// Threads add to a shared word by an atomic load and an atomic store.
// problem: int_totals
// judged: fail
#include "lab.h"
#include <cuda/atomic>

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    cuda::atomic_ref<int, cuda::thread_scope_block> word(total);
    word.store(word.load(cuda::memory_order_relaxed) + sum, cuda::memory_order_relaxed);
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
