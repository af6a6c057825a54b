// The factor comes from a table in constant memory, whose cells the compiler computes.
// problem: twice
// judged: pass
#include "lab.h"

struct Table {
    float cells[8];
    int length;
};

__device__ constexpr Table made() {
    Table t{};
    for (t.length = 0; t.length < 8; ++t.length) t.cells[t.length] = (t.length + 1) * 2.0f / (t.length + 1);
    return t;
}

__constant__ Table table = made();
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = table.cells[i & 7] * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
