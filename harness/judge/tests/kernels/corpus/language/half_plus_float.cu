// A half is added to a float. CUDA finds two operators that fit and refuses to choose.
// problem: twice
// judged: no build
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const __half none = __float2half(0.0f);
    y[i] = 2.0f * x[i] * float(none + 1.0f);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
