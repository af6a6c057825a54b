// A packed struct says that its float may be at any byte. The compiler then loads the bytes one by one.
// problem: twice
// judged: pass
#include "lab.h"

struct __attribute__((packed)) Entry {
    unsigned char factor;
    float value;
};

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ Entry entries[128];
    if (i < n) {
        entries[threadIdx.x].factor = 2;
        entries[threadIdx.x].value = x[i];
    }
    __syncthreads();
    if (i < n) y[i] = float(entries[threadIdx.x].factor) * entries[threadIdx.x].value;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
