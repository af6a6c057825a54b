// The middle of a row that is aligned is loaded and stored two numbers at a time; the first and the last number may
// be alone.
// problem: twice
// judged: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int head = int(reinterpret_cast<unsigned long long>(x + 1) / 4 % 2) + 1;
    if (i == 0) for (int at = 0; at < head && at < n; at++) y[at] = 2.0f * x[at];
    const int from = head + 2 * i;
    if (from + 2 <= n) {
        const float2 v = *reinterpret_cast<const float2*>(x + from);
        y[from] = v.x + v.x;
        y[from + 1] = v.y + v.y;
    } else if (from < n) {
        y[from] = 2.0f * x[from];
    }
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n / 2 + 1 + 127) / 128;
    launch.block[0] = 128;
}
