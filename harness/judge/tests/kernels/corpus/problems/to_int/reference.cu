// What is right, with each end of the range written out. whole is a signed word, positive an unsigned one.
#include "lab.h"

extern "C" __global__ void to_int(const float* x, int* whole, long long* positive, int n) {
    for (int i = 0; i < n; i++) {
        const float v = x[i];
        if (v != v) {
            whole[i] = 0;
            positive[i] = 0;
            continue;
        }
        whole[i] = v >= 2147483648.0f ? 2147483647 : v <= -2147483648.0f ? -2147483647 - 1 : int(v);
        positive[i] = v >= 4294967296.0f ? 4294967295ll : v <= 0.0f ? 0ll : (long long)v;
    }
}

LAB_LAUNCH(to_int) {}
