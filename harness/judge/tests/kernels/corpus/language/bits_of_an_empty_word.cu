// Counts of leading zeros and first bits of 0 have values in CUDA: 32 and 0. Funnel shifts take any amount.
// problem: twice
// judged: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned none = n & 0, amount = 40;
    const int factor = __clz(none) - 30 + __ffs(none) + __popc(none) + int(__clzll(none)) - 64 + int(__ffsll(none));
    const unsigned turned = __funnelshift_l(1u, 1u, amount) == 256u && __funnelshift_lc(1u, 5u, amount) == 1u ? 1 : 0;
    y[i] = float(factor * turned) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
