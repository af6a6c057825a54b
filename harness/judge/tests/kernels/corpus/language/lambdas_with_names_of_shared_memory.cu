// Lambdas have parameters and variables with the names of shared variables, and others use these by reference.
// problem: int_totals
// judged: pass
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int sums[64];
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    struct Pair {
        int sums;
    };
    auto same = [](int sums) { return sums; };
    auto member = [](Pair pair) { return pair.sums; };
    auto own = [] {
        int sums = 1;
        return sums;
    };
    auto put = [&] { sums[threadIdx.x] = same(member({sum})) * own(); };
    int first[2] = {0, 1};
    put();
    if (first[sums[threadIdx.x] * 0] != 0) return;
    __syncthreads();
    if (threadIdx.x > 0) return;
    int total = 0;
    for (int k = 0; k < 64; k++) total += sums[k];
    y[blockIdx.x] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
