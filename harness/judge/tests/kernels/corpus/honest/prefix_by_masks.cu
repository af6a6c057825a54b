// A vote of the warp says which of 32 places hold a one, and each lane counts the bits up to its own.
// problem: prefix
// judged: pass
#include "lab.h"

extern "C" __global__ void prefix(const int* x, int* y, int rows, int cols) {
    const int lane = threadIdx.x;
    const long long row = static_cast<long long>(blockIdx.x) * cols;
    int before = 0;
    for (int from = 0; from < cols; from += 32) {
        const int c = from + lane;
        const unsigned ones = __ballot_sync(~0u, c < cols && x[row + (c < cols ? c : 0)] != 0);
        if (c < cols) y[row + c] = before + __popc(ones & (2u << lane) - 1u);
        before += __popc(ones);
    }
}

LAB_LAUNCH(prefix) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
