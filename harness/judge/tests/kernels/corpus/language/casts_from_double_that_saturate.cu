// A cast of a double saturates on a GPU as one of a float does.
// problem: to_int
// judged: pass
#include "lab.h"

extern "C" __global__ void to_int(const float* x, int* whole, long long* positive, int n) {
    for (int i = threadIdx.x; i < n; i += 64) {
        const double v = x[i];
        whole[i] = static_cast<int>(v != v ? 0.0 : v);
        positive[i] = static_cast<unsigned>(v != v ? 0.0 : v);
    }
}

LAB_LAUNCH(to_int) { launch.block[0] = 64; }
