// What is right.
#include "lab.h"

#include <cuda_fp16.h>

extern "C" __global__ void half_products(const __half* a, const __half* b, float* y, int n) {
    for (int i = 0; i < n; i++) y[i] = __half2float(a[i]) * __half2float(b[i]);
}

LAB_LAUNCH(half_products) {}
