// A half in constant memory has an initial value that a constructor computes. CUDA does not allow it.
// problem: twice
// judged: no build
#include "lab.h"

#include <cuda_fp16.h>
__constant__ __half factor = 2.0f;
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = float(factor) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
