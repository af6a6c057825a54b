// What is right, byte by byte: sums = the sums of the two halfwords, without a carry between them; far = how far apart
// the four bytes are, as unsigned numbers; high = the higher of two signed bytes, four times; dots = the sum of the four
// products of signed bytes.
#include "lab.h"

extern "C" __global__ void packed(const int* a, const int* b, int* sums, int* far, int* high, int* dots, int n) {
    for (int i = 0; i < n; i++) {
        const unsigned p = a[i], q = b[i];
        sums[i] = int(((p + q) & 0xffffu) | (((p >> 16) + (q >> 16)) << 16));
        unsigned apart = 0, most = 0;
        int dot = 0;
        for (int shift = 0; shift < 32; shift += 8) {
            const int u = int((p >> shift) & 255u), v = int((q >> shift) & 255u);
            const int s = u < 128 ? u : u - 256, t = v < 128 ? v : v - 256;
            apart |= unsigned(u > v ? u - v : v - u) << shift;
            most |= (unsigned(s > t ? s : t) & 255u) << shift;
            dot += s * t;
        }
        far[i] = int(apart);
        high[i] = int(most);
        dots[i] = dot;
    }
}

LAB_LAUNCH(packed) {}
