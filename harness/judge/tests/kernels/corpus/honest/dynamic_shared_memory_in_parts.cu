// Dynamic shared memory is carved into bytes, doubles and floats, each at a multiple of its size.
// problem: two_pass
// judged: pass
#include "lab.h"

template <class T>
__device__ T* carve(unsigned char*& at, unsigned count) {
    const unsigned long long address = reinterpret_cast<unsigned long long>(at);
    at += (alignof(T) - address % alignof(T)) % alignof(T);
    T* const part = reinterpret_cast<T*>(at);
    at += count * sizeof(T);
    return part;
}

extern "C" __global__ void row_sums(const float* x, float* y, int rows, int cols) {
    extern __shared__ unsigned char memory[];
    unsigned char* at = memory;
    unsigned char* const used = carve<unsigned char>(at, 3 + 64);
    double* const sums = carve<double>(at, 64);
    float* const cells = carve<float>(at, cols);
    const int row = blockIdx.x, lane = threadIdx.x;
    for (int c = lane; c < cols; c += 64) cells[c] = x[row * cols + c];
    __syncthreads();
    sums[lane] = 0.0;
    used[lane] = lane < cols;
    for (int c = lane; c < cols; c += 64) sums[lane] += cells[c];
    __syncthreads();
    if (lane == 0) {
        double sum = 0.0;
        for (int k = 0; k < 64; k++) if (used[k]) sum += sums[k];
        y[row] = static_cast<float>(sum);
    }
}

LAB_LAUNCH(row_sums) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
    launch.shared_bytes = 3 + 64 + 8 + 64 * 8 + 4 + 4 * dims.cols;
}
