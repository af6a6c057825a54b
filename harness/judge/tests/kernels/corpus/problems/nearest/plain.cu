// The plain kernel of this problem.
#include "lab.h"

extern "C" __global__ void nearest(const float* x, int* y, int n) {
    for (int i = 0; i < n; i++) y[i] = int(rint(double(x[i])));
}

LAB_LAUNCH(nearest) {}
