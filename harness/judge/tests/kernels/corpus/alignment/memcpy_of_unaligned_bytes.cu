// A thread copies eight bytes with memcpy from any address into an array of its own. memcpy asks for no alignment.
// problem: twice
// judged: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) y[0] = 2.0f * x[0];
    const int from = 1 + 2 * i;
    if (from + 2 <= n) {
        float pair[2];
        memcpy(pair, reinterpret_cast<const char*>(x) + 4 * from, 8);
        for (float& v : pair) v += v;
        memcpy(y + from, pair, sizeof pair);
    } else if (from < n) {
        y[from] = 2.0f * x[from];
    }
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n / 2 + 1 + 127) / 128;
    launch.block[0] = 128;
}
