// A block loads four words at once from shared memory, 8 bytes behind a multiple of 16.
// problem: twice
// judged: crash
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    __shared__ alignas(16) float cells[132];
    const int from = blockIdx.x * 128, lane = threadIdx.x;
    for (int at = lane; at < 128; at += 32) cells[2 + at] = from + at < n ? x[from + at] : 0.0f;
    __syncthreads();
    const int4 words = *reinterpret_cast<const int4*>(cells + 2 + 4 * lane);
    const int bits[4] = {words.x, words.y, words.z, words.w};
    for (int k = 0; k < 4; k++) {
        const int at = from + 4 * lane + k;
        if (at < n) y[at] = 2.0f * __int_as_float(bits[k]);
    }
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 32;
}
