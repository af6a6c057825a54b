// A base class template walks over a row, and the derived class says how two numbers become one.
// problem: tensor
// judged: pass
#include "lab.h"

template <class How>
struct Reduce {
    __device__ float of_row(const float* row, int length, int lane) const {
        const How& how = static_cast<const How&>(*this);
        float all = row[0];
        for (int c = lane; c < length; c += 32) all = how.join(all, row[c]);
        for (int bits = 1; bits < 32; bits <<= 1) all = how.join(all, __shfl_xor_sync(~0u, all, bits));
        return all;
    }
};

struct Largest : Reduce<Largest> {
    __device__ static float join(float a, float b) { return a < b ? b : a; }
};

template <class How>
struct Map {
    __device__ void of_row(float* to, const float* from, int length, int lane) const {
        for (int c = lane; c < length; c += 32) to[c] = static_cast<const How*>(this)->change(from[c]);
    }
};

struct Less : Map<Less> {
    float by;
    __device__ explicit Less(float b) : by(b) {}
    __device__ float change(float v) const { return v - by; }
};

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    const float largest = Largest{}.of_row(x, cols, lane);
    Less{largest}.of_row(y, x, cols, lane);
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
