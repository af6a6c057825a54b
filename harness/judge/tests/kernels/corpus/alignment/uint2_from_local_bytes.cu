// A thread collects bytes in an array of its own, and reads eight of them at once from a place that the row decides,
// which is no multiple of 8.
// problem: twice
// judged: crash
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    alignas(8) volatile unsigned char bytes[32];
    const unsigned bits = __float_as_uint(x[i]);
    const int from = 1 + n % 7;
    for (int k = 0; k < 8; k++) bytes[from + k] = static_cast<unsigned char>(bits >> (8 * (k % 4)));
    const uint2 words = *reinterpret_cast<uint2*>(const_cast<unsigned char*>(bytes + from));
    y[i] = __uint_as_float(words.x) + __uint_as_float(words.y);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
