// The warp adds 32 whole numbers at once: it counts for each of their 32 bits how many lanes hold it.
// problem: int_totals
// judged: pass
#include "lab.h"

template <int Bit>
__device__ unsigned sum_of(unsigned word) {
    if constexpr (Bit == 32) {
        return 0u;
    } else {
        const unsigned lanes = __ballot_sync(0xffffffffu, word >> Bit & 1u);
        return (static_cast<unsigned>(__popc(lanes)) << Bit) + sum_of<Bit + 1>(word);
    }
}

extern "C" __global__ void __launch_bounds__(32) int_totals(const int* x, int* y, int rows, int cols) {
    unsigned total = 0;
    for (int from = 0; from < cols; from += 32) {
        const int c = from + static_cast<int>(threadIdx.x);
        total += sum_of<0>(c < cols ? static_cast<unsigned>(x[blockIdx.x * cols + c]) : 0u);
    }
    if (threadIdx.x == 0) y[blockIdx.x] = static_cast<int>(total);
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
