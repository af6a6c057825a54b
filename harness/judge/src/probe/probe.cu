// What a device can do, for the bounds that a kernel is held against. Each kernel keeps one part of the device
// busy and nothing else; measuring.rs beside this file launches them and keeps the best of several launches.
#include "lab.h"

// ---- Launch: nothing at all ----------------------------------------------------------------------

extern "C" __global__ void probe_launch() {}
LAB_LAUNCH(probe_launch) {
    launch.grid[0] = device.sms;
    launch.block[0] = 32;
}

// ---- Memory: a copy far larger than the L2 cache -------------------------------------------------

// `count` is a multiple of 4 times the threads of the grid: four loads are in flight a thread.
extern "C" __global__ void probe_copy(const float4* from, float4* to, unsigned count) {
    const unsigned threads = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += 4 * threads) {
        const float4 a = from[i], b = from[i + threads], c = from[i + 2 * threads], d = from[i + 3 * threads];
        to[i] = a;
        to[i + threads] = b;
        to[i + 2 * threads] = c;
        to[i + 3 * threads] = d;
    }
}
LAB_LAUNCH(probe_copy) {
    launch.grid[0] = dims.grid;
    launch.block[0] = dims.block;
}

// ---- L2: reads of what fits there, past the first-level cache ------------------------------------

// `count` is a power of two. Each round visits all of it in another order, so that no load can be left out.
extern "C" __global__ void probe_l2(const float4* from, float* out, unsigned count, unsigned rounds) {
    float sum = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        const unsigned turn = (round * 64) & (count - 1);
        for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
            const float4 v = __ldcg(&from[i ^ turn]);
            sum += v.x + v.y + v.z + v.w;
        }
    }
    if (sum == 12345.0f) *out = sum;
}
LAB_LAUNCH(probe_l2) {
    launch.grid[0] = dims.grid;
    launch.block[0] = dims.block;
}

// ---- Arithmetic: f32 multiply-adds, and the tensor cores' ----------------------------------------

constexpr int CHAINS = 8;   // independent of each other, so that no result is waited for
constexpr int UNROLL = 16;  // 2 * CHAINS * UNROLL operations a thread and round

extern "C" __global__ void probe_fma(float* out, float x, unsigned rounds) {
    float sums[CHAINS];
    for (int c = 0; c < CHAINS; ++c) sums[c] = float(threadIdx.x + c);
    for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
            for (int c = 0; c < CHAINS; ++c) sums[c] = fmaf(sums[c], x, x);
        }
    }
    float sum = 0;
    for (int c = 0; c < CHAINS; ++c) sum += sums[c];
    if (sum == 12345.0f) *out = sum;
}
LAB_LAUNCH(probe_fma) {
    launch.grid[0] = dims.grid;
    launch.block[0] = dims.block;
}

#ifndef LAB_CPU
#if __CUDA_ARCH__ >= 800
constexpr int TILES = 4;  // independent products a warp; 2 * 16 * 8 * 16 operations each

extern "C" __global__ void probe_tensor(float* out, unsigned bits, unsigned rounds) {
    float sums[TILES][4] = {};
    for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
        for (int t = 0; t < TILES; ++t) {
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                : "+f"(sums[t][0]), "+f"(sums[t][1]), "+f"(sums[t][2]), "+f"(sums[t][3])
                : "r"(bits));
        }
    }
    float sum = 0;
    for (int t = 0; t < TILES; ++t) sum += sums[t][0] + sums[t][1] + sums[t][2] + sums[t][3];
    if (sum == 12345.0f) *out = sum;
}
LAB_LAUNCH(probe_tensor) {
    launch.grid[0] = dims.grid;
    launch.block[0] = dims.block;
}
#endif
#endif

// ---- One trip to the L2 cache and back: each load says where the next one is ----------------------

extern "C" __global__ void probe_chase(const unsigned* next, unsigned* out, unsigned steps) {
    unsigned at = 0;
    for (unsigned step = 0; step < steps; ++step) at = __ldcg(&next[at]);
    *out = at;
}
LAB_LAUNCH(probe_chase) {}

// ---- Exchange between all multiprocessors: an all-gather of tagged words -------------------------

// One block a multiprocessor. In each exchange every block publishes its share of 1,024 tagged floats (a state of a
// small recurrent model), reads all of them, and goes on when all its threads have. A thread asks for all of its words before
// it looks at the first. `words`: two arrays, zeros.
constexpr unsigned WORDS = 1024, EACH = 4;

extern "C" __global__ void probe_exchange(unsigned long long* words, float* out, unsigned exchanges) {
    const unsigned share = (WORDS + gridDim.x - 1) / gridDim.x, own = blockIdx.x * share + threadIdx.x;
    float sum = 0;
    for (unsigned epoch = 1; epoch <= exchanges; ++epoch) {
        unsigned long long* now = words + epoch % 2 * WORDS;
        if (threadIdx.x < share && own < WORDS) lab_store_tagged(&now[own], 1.0f, epoch);
        for (unsigned first = threadIdx.x; first < WORDS; first += EACH * blockDim.x) {
            unsigned long long seen[EACH];
            bool here;
            do {
                here = true;
#pragma unroll
                for (unsigned i = 0; i < EACH; ++i) {
                    const unsigned w = first + i * blockDim.x;
                    seen[i] = w < WORDS ? lab_poll(&now[w]) : static_cast<unsigned long long>(epoch) << 32;
                }
#pragma unroll
                for (unsigned i = 0; i < EACH; ++i) here &= static_cast<unsigned>(seen[i] >> 32) == epoch;
            } while (!here);
#pragma unroll
            for (unsigned i = 0; i < EACH; ++i) sum += __uint_as_float(static_cast<unsigned>(seen[i]));
        }
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
LAB_LAUNCH(probe_exchange) {
    launch.grid[0] = device.sms;
    launch.block[0] = dims.block;
    launch.cooperative = 1;
}
