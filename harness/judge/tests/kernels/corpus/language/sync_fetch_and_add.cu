// Numbers are counted by gcc's own atomic functions. NVRTC does not know them.
// problem: counts
// judged: no build
#include "lab.h"

extern "C" __global__ void counts(const int* x, long long* wide, int* narrow, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __sync_fetch_and_add(wide + x[i], 1ll);
    __sync_fetch_and_add(narrow + x[i], 1);
}

LAB_LAUNCH(counts) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
