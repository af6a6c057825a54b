// What is right: one thread for all.
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void halve(const __half* x, __half* y, int n) {
    for (int i = 0; i < n; i++) y[i] = __float2half(0.5f * __half2float(x[i]));
}

LAB_LAUNCH(halve) {}
