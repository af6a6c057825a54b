// Digit separators, binary and hexadecimal literals, an own literal, a raw string and alternative words.
// problem: twice
// judged: pass
#include "lab.h"

__device__ constexpr float operator""_times(unsigned long long count) { return static_cast<float>(count); }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    static_assert(1'000'000 == 1000 * 1000 and 0b1010 == 10 and 0x1p1f == 2.0f, "literals");
    const char* letters = R"(2")";
    const float factor = letters[0] - '0';
    if (not(factor not_eq 2_times)) y[i] = factor * x[i];
    else y[i] = 0x0.8p2f * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
