// A word is copied by a builtin of gcc. NVRTC knows memcpy, but not __builtin_memcpy.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned word;
    __builtin_memcpy(&word, x + i, 4);
    y[i] = 2.0f * __uint_as_float(word);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
