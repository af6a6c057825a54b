// What is right: one thread counts.
#include "lab.h"

extern "C" __global__ void counts(const int* x, long long* wide, int* narrow, int n) {
    for (int i = 0; i < n; i++) {
        wide[x[i]] += 1;
        narrow[x[i]] += 1;
    }
}

LAB_LAUNCH(counts) {}
