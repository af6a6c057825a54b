// A lambda without captures uses dynamic shared memory.
// problem: int_totals
// judged: pass
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    extern __shared__ int sums[];
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    const auto put = [](int value) mutable noexcept -> void { sums[threadIdx.x] = value; };
    auto last = put;
    last(sum);
    __syncthreads();
    if (threadIdx.x > 0) return;
    int total = 0;
    for (int k = 0; k < 64; k++) total += sums[k];
    y[blockIdx.x] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
    launch.shared_bytes = 256;
}
