// Each result comes from one of the instructions for words that hold several numbers. NVRTC knows them all.
// problem: packed
// judged: pass
#include "lab.h"

extern "C" __global__ void packed(const int* a, const int* b, int* sums, int* far, int* high, int* dots, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned p = a[i], q = b[i];
    sums[i] = __vadd2(p, q);
    far[i] = __vabsdiffu4(p, q);
    high[i] = __vmaxs4(p, q);
    dots[i] = __dp4a(a[i], b[i], 0);
}

LAB_LAUNCH(packed) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 64;
}
