// Each lane keeps count, mean and squares of its own numbers (Welford), and lanes join theirs by shuffles. A large mean
// does no harm.
// problem: variance
// judged: pass
#include "lab.h"

struct Moments {
    float count = 0.0f, mean = 0.0f, squares = 0.0f;

    __device__ void take(float v) {
        count += 1.0f;
        const float off = v - mean;
        mean += off / count;
        squares += off * (v - mean);
    }

    __device__ Moments from(int bits) const {
        Moments other;
        other.count = __shfl_xor_sync(0xffffffffu, count, bits);
        other.mean = __shfl_xor_sync(0xffffffffu, mean, bits);
        other.squares = __shfl_xor_sync(0xffffffffu, squares, bits);
        return other;
    }

    __device__ void join(const Moments& other) {
        const float both = count + other.count;
        if (both == 0.0f) return;
        const float off = other.mean - mean;
        squares += other.squares + off * off * (count * other.count / both);
        mean = (count * mean + other.count * other.mean) / both;
        count = both;
    }
};

extern "C" __global__ void variance(const float* x, float* y, int rows, int cols) {
    Moments own;
    for (int c = threadIdx.x; c < cols; c += 32) own.take(x[blockIdx.x * cols + c]);
    for (int bits = 1; bits < 32; bits *= 2) own.join(own.from(bits));
    if (threadIdx.x == 0) y[blockIdx.x] = own.squares / own.count;
}

LAB_LAUNCH(variance) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
