// Numbers are counted by gcc's __atomic_fetch_add. NVRTC does not know it.
// problem: counts
// judged: no build
#include "lab.h"

extern "C" __global__ void counts(const int* x, long long* wide, int* narrow, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __atomic_fetch_add(wide + x[i], 1ll, 0);
    __atomic_fetch_add(narrow + x[i], 1, 0);
}

LAB_LAUNCH(counts) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
