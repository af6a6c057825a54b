// An own number type has operators for the larger of two numbers and for what is left.
// problem: tensor
// judged: pass
#include "lab.h"

class Top {
    float value;

public:
    __device__ constexpr explicit Top(float v) noexcept : value{v} {}
    __device__ Top& operator|=(float v) {
        value = value < v ? v : value;
        return *this;
    }
    __device__ float operator[](int bits) const { return __shfl_xor_sync(0xffffffffu, value, bits); }
    __device__ operator float() const { return value; }
};

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    Top top{x[0]};
    for (int c = lane; c < cols; c += 32) top |= x[c];
    for (int bits : {16, 8, 4, 2, 1}) top |= top[bits];
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - top;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
