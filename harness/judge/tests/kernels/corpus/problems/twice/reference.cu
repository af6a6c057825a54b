// What is right: one thread for all.
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) y[i] = x[i] + x[i];
}

LAB_LAUNCH(twice) {}
