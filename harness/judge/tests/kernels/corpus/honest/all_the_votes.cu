// Warp functions of many kinds: votes, matches, reductions of words, and shuffles up and down.
// problem: int_ends
// judged: pass
#include "lab.h"

constexpr unsigned FULL = 0xffffffffu;

extern "C" __global__ void int_ends(const int* x, int* high, int* low, int rows, int cols) {
    const int lane = threadIdx.x;
    x += blockIdx.x * cols;
    int most = x[0], least = x[0];
    for (int c = lane; __any_sync(FULL, c < cols); c += 32) {
        const int v = x[c < cols ? c : cols - 1];
        most = max(most, v);
        least = min(least, v);
    }
    most = __reduce_max_sync(FULL, most);
    for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(FULL, least, step);
        if (lane >= step) least = min(least, other);
    }
    least = __shfl_sync(FULL, least, 31);
    int same = 0;
    const unsigned matched = __match_all_sync(FULL, least, &same);
    const unsigned first = __ffs(__ballot_sync(FULL, same && matched == FULL)) - 1;
    if (lane == int(first) && __popc(__activemask()) >= 1) {
        high[blockIdx.x] = most;
        low[blockIdx.x] = least;
    }
}

LAB_LAUNCH(int_ends) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
