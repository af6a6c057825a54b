// What is right.
#include "lab.h"

extern "C" __global__ void clamp_to(const float* x, float* y, float most, int n) {
    for (int i = 0; i < n; i++) y[i] = x[i] > most ? most : x[i] < -most ? -most : x[i];
}

LAB_LAUNCH(clamp_to) {}
