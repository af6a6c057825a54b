// The plain kernel of this problem: a bitonic sort with a launch for each pass.
#include "lab.h"

extern "C" __global__ void copied(const int* x, int* y, int bits, void*) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1 << bits) y[i] = x[i];
}

extern "C" __global__ void pass(const int*, int* y, int bits, void*, int size, int stride) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ stride;
    if (i >= 1 << bits || other < i) return;
    const bool ascends = (i & size) == 0;
    const int here = y[i], there = y[other];
    if (here > there == ascends) y[i] = there, y[other] = here;
}

LAB_LAUNCHES(sorted) {
    const int n = 1 << dims.bits;
    LabShape& first = launches.add("copied");
    first.grid[0] = (n + 255) / 256;
    first.block[0] = 256;
    for (int size = 2; size <= n; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            LabShape& each = launches.add("pass").arg(size).arg(stride);
            each.grid[0] = (n + 255) / 256;
            each.block[0] = 256;
        }
}
