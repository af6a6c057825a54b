// y[i] = x[i] / rms(x) * scale[i]; a warp a row.
#include "lab.h"

LAB_LAUNCH(rmsnorm_f32, rows, 1, 1, 256, 1, 1)

constexpr int kWarps = 8;
constexpr float kEpsilon = 1e-5f;

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffff, value, offset);
    }
    return value;
}

template <typename T>
__device__ float4 load4(const T *from, int at) {
    return reinterpret_cast<const float4 *>(from)[at];
}

// The sum of squares of one row, in every thread.
__device__ float square_sum(const float *row, int columns) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns / 4; i += blockDim.x) {
        float4 v = load4(row, i);
        sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    __shared__ float parts[kWarps];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    sum = warp_sum(sum);
    if (lane == 0) {
        parts[warp] = sum;
    }
    __syncthreads();
    sum = lane < kWarps ? parts[lane] : 0.0f;
    return __shfl_sync(0xffffffff, warp_sum(sum), 0);
}

extern "C" __global__ void rmsnorm_f32(
    const float *x,
    const float *scale,
    float *y,
    int rows,
    int columns
) {
    const float *row = x + size_t(blockIdx.x) * columns;
    float *out = y + size_t(blockIdx.x) * columns;
    float mean = square_sum(row, columns) / columns;
    float factor = rsqrtf(mean + kEpsilon);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        out[i] = row[i] * factor * scale[i];
    }
}
