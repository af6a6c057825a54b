// What is right: one thread for all.
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void added(const float* x, float* single, __half* half, double* wide, int n) {
    for (int i = 0; i < n; i++) {
        single[i] += x[i];
        half[i] = __float2half(__half2float(half[i]) + x[i]);
        wide[i] += x[i];
    }
}

LAB_LAUNCH(added) {}
