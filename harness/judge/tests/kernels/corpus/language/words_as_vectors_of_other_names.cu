// The same results from other functions for packed words: differences one way and the other, comparisons and masks.
// problem: packed
// judged: pass
#include "lab.h"

extern "C" __global__ void packed(const int* a, const int* b, int* sums, int* far, int* high, int* dots, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned p = a[i], q = b[i];
    sums[i] = __vsub2(p, __vneg2(q));
    const unsigned above = __vcmpgtu4(p, q);
    far[i] = (__vsub4(p, q) & above) | (__vsub4(q, p) & ~above);
    const unsigned signed_above = __vcmpgts4(p, q);
    high[i] = (p & signed_above) | (q & ~signed_above);
    dots[i] = __dp4a(a[i], b[i], -5) + 5;
}

LAB_LAUNCH(packed) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 64;
}
