// A warpgroup computes 64 × 8 results. Shared memory holds 64 × 16 of a and 8 × 16 of b, in core matrices of 8 rows of
// 16 bytes, as wgmma reads them without swizzle.
#include "lab.h"
#include <cuda_fp16.h>

constexpr int M = 64, N = 8, K = 16;

#ifndef LAB_CPU
// The descriptor of a matrix in shared memory, whose core matrices lie 128 bytes apart along k and 256 along m or n.
__device__ inline unsigned long long descriptor(const void* shared) {
    const unsigned long long address = __cvta_generic_to_shared(shared);
    return (address & 0x3ffff) >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
}
#endif

extern "C" __global__ void matmul(const __half* a, const __half* b, float* c, int m, int n, int k) {
    __shared__ alignas(128) __half own_a[M * K], own_b[N * K];
    const int t = threadIdx.x, row0 = blockIdx.y * M, column0 = blockIdx.x * N;
    // What a thread holds of the results: two columns of two rows.
    const int row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
    float sum[4] = {};
    for (int from = 0; from < k; from += K) {
        const auto place = [](int r, int j) { return (r / 8 * 2 + j / 8) * 64 + r % 8 * 8 + j % 8; };
        for (int i = t; i < M * K; i += 128) own_a[place(i / K, i % K)] = a[(row0 + i / K) * k + from + i % K];
        for (int i = t; i < N * K; i += 128) own_b[place(i / K, i % K)] = b[(column0 + i / K) * k + from + i % K];
#ifdef LAB_CPU
        __syncthreads();
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < K; j++) {
                sum[i] += __half2float(own_a[place(row + i / 2 * 8, j)]) * __half2float(own_b[place(column + i % 2, j)]);
            }
        }
#else
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "l"(descriptor(own_a)), "l"(descriptor(own_b)));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) c[(row0 + row + i / 2 * 8) * n + column0 + column + i % 2] = sum[i];
}

LAB_LAUNCH(matmul) {
    launch.grid[0] = dims.n / N;
    launch.grid[1] = dims.m / M;
    launch.block[0] = 128;
}
