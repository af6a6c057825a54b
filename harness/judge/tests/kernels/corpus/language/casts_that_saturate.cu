// A cast of a float to an integer takes the nearest integer on a GPU, and 0 for NaN. The kernel relies on it.
// problem: to_int
// judged: pass
#include "lab.h"

extern "C" __global__ void to_int(const float* x, int* whole, long long* positive, int n) {
    for (int i = threadIdx.x; i < n; i += 64) {
        whole[i] = (int)x[i];
        positive[i] = (unsigned)x[i];
    }
}

LAB_LAUNCH(to_int) { launch.block[0] = 64; }
