// Each block leaves its part with a tag in one word, past the caches. The block with the last ticket waits for all words. But
// __ldcg is no volatile load, and NVRTC makes one load of the loop: on a GPU the totals lack parts.
// problem: int_totals
// judged: fail
// gap on cpu: pass
#include "lab.h"

constexpr int PARTS = 4;

extern "C" __global__ void partial(const int* x, int* y, int rows, int cols, unsigned* scratch) {
    const int row = blockIdx.x % rows, lane = threadIdx.x;
    unsigned* const tickets = scratch + row * (PARTS + 2);
    unsigned part = 0;
    if (lane == 0) part = atomicAdd(tickets, 1u);
    part = __shfl_sync(0xffffffffu, part, 0);
    int sum = 0;
    for (int c = part * 32 + lane; c < cols; c += PARTS * 32) sum += x[row * cols + c];
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (lane > 0) return;
    unsigned* const tagged = tickets + 1;
    __stcg(tagged + part, (unsigned(sum) << 1) | 1u);
    if (part != PARTS - 1) return;
    int total = 0;
    for (int k = 0; k < PARTS; k++) {
        unsigned seen = 0;
        while ((seen & 1u) == 0) seen = __ldcg(tagged + k);
        total += static_cast<int>(seen) >> 1;
    }
    y[row] = total;
}

LAB_LAUNCHES(int_totals) {
    launches.scratch_bytes = 4ull * (PARTS + 2) * dims.rows;
    launches.zeroed = 1;
    LabShape& only = launches.add("partial");
    only.grid[0] = PARTS * dims.rows;
    only.block[0] = 32;
}
