// The reference: its results are what is right. A block computes a square of c and a thread 4 x 4 cells of it, summed in f64.
#include "lab.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int TILE = 64, DEPTH = 16, SIDE = 16;  // cells of c, numbers of a row at a time, threads
constexpr int EACH = TILE / SIDE;

__device__ double widened(__half v) { return __half2float(v); }
__device__ double widened(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ void store(__half* to, double v) { *to = __float2half((float)v); }
__device__ void store(__nv_bfloat16* to, double v) { *to = __float2bfloat16((float)v); }

template <typename T>
__device__ void multiply(const T* a, const T* b, T* c, int m, int n, int k) {
    __shared__ double rows[DEPTH][TILE], columns[DEPTH][TILE];
    const int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    const int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    double sum[EACH][EACH] = {};
    for (int from = 0; from < k; from += DEPTH) {
        for (int i = threadIdx.x; i < TILE * DEPTH; i += SIDE * SIDE) {
            const int line = i / DEPTH, p = i % DEPTH;
            const bool in_k = from + p < k;
            rows[p][line] = in_k && row + line < m ? widened(a[(long long)(row + line) * k + from + p]) : 0;
            columns[p][line] = in_k && column + line < n ? widened(b[(long long)(column + line) * k + from + p]) : 0;
        }
        __syncthreads();
        for (int p = 0; p < DEPTH; p++)
            for (int i = 0; i < EACH; i++)
                for (int j = 0; j < EACH; j++) sum[i][j] += rows[p][y + SIDE * i] * columns[p][x + SIDE * j];
        __syncthreads();
    }
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) {
            const int r = row + y + SIDE * i, s = column + x + SIDE * j;
            if (r < m && s < n) store(&c[(long long)r * n + s], sum[i][j]);
        }
}

extern "C" __global__ void matmul_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n, int k) {
    multiply(a, b, c, m, n, k);
}

extern "C" __global__ void matmul_f16(const __half* a, const __half* b, __half* c, int m, int n, int k) {
    multiply(a, b, c, m, n, k);
}

LAB_LAUNCH(matmul_bf16) {
    launch.grid[0] = (dims.n + TILE - 1) / TILE;
    launch.grid[1] = (dims.m + TILE - 1) / TILE;
    launch.block[0] = SIDE * SIDE;
}

LAB_LAUNCH(matmul_f16) {
    launch.grid[0] = (dims.n + TILE - 1) / TILE;
    launch.grid[1] = (dims.m + TILE - 1) / TILE;
    launch.block[0] = SIDE * SIDE;
}
