// The gated delta rule, one token. A warp computes ROWS rows of the state; a lane has four cells of each. There is a kernel for each ROWS
// and without a loop, because with a cold L2 cache the code comes from memory too.
//
// All rows are loaded before anything is computed. q . S' = g * (q . S) + delta * (q . k), so the sums of k and of q over all rows are
// taken at once, and none waits for delta or for the gates. `folded` takes them together: at each shuffle a lane gives one half of its
// sums away and goes on with the other half, so 8 sums take 9 shuffles in place of 40, and each lane ends with one sum.
#include "lab.h"

#include <cuda_bf16.h>

constexpr int D = 128;               // cells of k, which are a row of the state, and of v
constexpr int HEADS = 8;             // of v; a head of q and k serves two of them
constexpr int WARP = 32, WARPS = 4;  // of a block
constexpr unsigned ALL = 0xffffffffu;

// Four neighbouring numbers of bf16, which are the upper halves of floats.
__device__ inline float4 four(const __nv_bfloat16* from) {
    const uint2 bits = *reinterpret_cast<const uint2*>(from);
    return make_float4(__uint_as_float(bits.x << 16), __uint_as_float(bits.x & 0xffff0000u), __uint_as_float(bits.y << 16),
                       __uint_as_float(bits.y & 0xffff0000u));
}

__device__ inline float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

// The sums of N parts over the warp: lane l gets that of part l / (WARP / N).
template <int N>
__device__ inline float folded(float (&parts)[N], int lane) {
    int bit = WARP / 2;
#pragma unroll
    for (int half = N / 2; half > 0; half /= 2, bit /= 2)
#pragma unroll
        for (int i = 0; i < half; i++) {
            const bool upper = lane & bit;
            const float given = upper ? parts[i] : parts[i + half];
            parts[i] = (upper ? parts[i + half] : parts[i]) + __shfl_xor_sync(ALL, given, bit);
        }
#pragma unroll
    for (; bit > 0; bit /= 2) parts[0] += __shfl_xor_sync(ALL, parts[0], bit);
    return parts[0];
}

template <int ROWS>
__device__ inline void decode(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const float* state,
                              const float* A_log, const __nv_bfloat16* a, const float* dt_bias, const __nv_bfloat16* b,
                              __nv_bfloat16* output, float* new_state, float scale, int batch) {
    constexpr int EACH = WARP / (2 * ROWS);  // neighbouring lanes that end with the same sum
    const int lane = threadIdx.x % WARP;
    const unsigned first = (blockIdx.x * WARPS + threadIdx.x / WARP) * ROWS;  // row of the warp, counted over all heads
    const unsigned of_head = first / D, own = first + lane / EACH % ROWS;     // own: the row whose sum the lane ends with
    const size_t at = (size_t)first * (D / 4) + lane;

    // Everything is asked for before the first wait.
    const float a_of = __bfloat162float(a[of_head]), b_of = __bfloat162float(b[of_head]);
    const float bias = dt_bias[of_head % HEADS], log_of = A_log[of_head % HEADS];
    float4 s[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) s[r] = reinterpret_cast<const float4*>(state)[at + r * (D / 4)];
    const float4 kk = four(k + of_head / 2 * D + 4 * lane), qq = four(q + of_head / 2 * D + 4 * lane);
    const float value = __bfloat162float(v[own]);
    // The compiler moves no load behind a branch, so this one, which is never taken, keeps the loads together. Without it, it waits for
    // some of them before it asks for the others, and a warp waits for memory twice.
    __syncwarp();
    if (batch < 0) return;

    const float x = a_of + bias;
    // The hardware's exp, log and division are short code; g is off by at most 3e-6 of itself.
    const float softplus = fmaxf(x, 0.0f) + __logf(1.0f + __expf(-fabsf(x)));  // of any x, and without a branch
    const float g = __expf(-__expf(log_of) * softplus);
    const float beta = __fdividef(1.0f, 1.0f + __expf(-b_of));
    const float both = lab_warp_sum(dot(qq, kk));

    float parts[2 * ROWS];  // of k, then of q
#pragma unroll
    for (int r = 0; r < ROWS; r++) parts[r] = dot(kk, s[r]), parts[ROWS + r] = dot(qq, s[r]);
    const float sum = folded(parts, lane);  // of k in the lower lanes, of q in the upper ones
    const float delta = beta * (value - g * sum);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const float d = __shfl_sync(ALL, delta, r * EACH);
        reinterpret_cast<float4*>(new_state)[at + r * (D / 4)] =
            make_float4(g * s[r].x + d * kk.x, g * s[r].y + d * kk.y, g * s[r].z + d * kk.z, g * s[r].w + d * kk.w);
    }
    const float own_delta = __shfl_xor_sync(ALL, delta, WARP / 2);
    if (lane >= WARP / 2 && lane % EACH == 0)
        output[own] = __float2bfloat16((scale == 0.0f ? 0.088388347648318447f : scale) * (g * sum + own_delta * both));
}

#define KERNEL(name, rows)                                                                                                          \
    extern "C" __global__ void __launch_bounds__(WARP* WARPS)                                                                       \
        name(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const float* state, const float* A_log,        \
             const __nv_bfloat16* a, const float* dt_bias, const __nv_bfloat16* b, __nv_bfloat16* output, float* new_state,         \
             float scale, int batch, void* no_scratch) {                                                                            \
        decode<rows>(q, k, v, state, A_log, a, dt_bias, b, output, new_state, scale, batch);                                        \
    }

KERNEL(rows_of_2, 2)
KERNEL(rows_of_4, 4)
KERNEL(rows_of_8, 8)

// Few rows are done when the slowest warp is: many warps with few rows each make that short. Many rows are done as fast as memory is:
// few warps with many loads on the way each take the fewest instructions.
LAB_LAUNCHES(gdn_decode) {
    const int rows = dims.batch <= 2 ? 2 : dims.batch <= 16 ? 4 : 8;
    LabShape& launch = launches.add(rows == 2 ? "rows_of_2" : rows == 4 ? "rows_of_4" : "rows_of_8");
    launch.grid[0] = dims.batch * HEADS * D / (rows * WARPS);
    launch.block[0] = WARP * WARPS;
}
