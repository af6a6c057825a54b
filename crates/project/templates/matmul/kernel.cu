// NAME: c[i, j] = sum over l of a[i, l] * b[l, j]. One block computes a tile of TILE x TILE results, one thread one result. The
// block loads the tiles of a and b that it needs into shared memory, one pair after the other.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int TILE = 16;

__device__ float widened(float v) { return v; }
__device__ float widened(__half v) { return __half2float(v); }
__device__ void narrow(float* to, float v) { *to = v; }
__device__ void narrow(__half* to, float v) { *to = __float2half(v); }

template <typename T>
__device__ void multiply(const T* a, const T* b, T* c, int m, int n, int k) {
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < k; first += TILE) {
        const int l = first + threadIdx.x, r = first + threadIdx.y;
        // Zeros stand for what lies outside of the matrices.
        as[threadIdx.y][threadIdx.x] = row < m && l < k ? widened(a[(long long)row * k + l]) : 0.0f;
        bs[threadIdx.y][threadIdx.x] = r < k && col < n ? widened(b[(long long)r * n + col]) : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) narrow(&c[(long long)row * n + col], sum);
}

extern "C" __global__ void NAME_f32(const float* a, const float* b, float* c, int m, int n, int k) {
    multiply(a, b, c, m, n, k);
}

extern "C" __global__ void NAME_f16(const __half* a, const __half* b, __half* c, int m, int n, int k) {
    multiply(a, b, c, m, n, k);
}

// A launch statement sets grid, block and shared memory. It runs on the device, outside of the timed window.
LAB_LAUNCH(NAME_f32) {
    launch.grid[0] = (dims.n + TILE - 1) / TILE;
    launch.grid[1] = (dims.m + TILE - 1) / TILE;
    launch.block[0] = TILE;
    launch.block[1] = TILE;
}

LAB_LAUNCH(NAME_f16) {
    launch.grid[0] = (dims.n + TILE - 1) / TILE;
    launch.grid[1] = (dims.m + TILE - 1) / TILE;
    launch.block[0] = TILE;
    launch.block[1] = TILE;
}
