// WaveGRU 1024×2: one persistent, cooperative kernel that generates audio samples one after the other.
//
// A step goes through five phases, with a grid-wide barrier between each two (`grid.sync()`):
//
//   L0   embed the last token, RMS norm, GRU cell     every block norms for itself; a warp a hidden unit
//   L1   add the embedding, RMS norm, GRU cell        likewise
//   GLU  value · σ(gate)                              a warp a unit
//   out  the 256 logits                               a warp a logit
//   pick min-p and Gumbel-max                         the first warp of every block, all alike, so no fifth barrier
//
// It is the plain version, to start from. README.md says what to try.
#include "lab.h"

#include <cooperative_groups.h>
#include <cuda_bf16.h>

namespace cg = cooperative_groups;

// Whether a layer's GRU weights stay in registers over all steps: 96 registers a thread and layer at H = 1024. Both
// layers at once do not fit (255 registers, the rest spills). A layer that is not tiled reads its weights from
// memory in each step, and so does every layer where there are fewer warps than hidden units.
#ifndef L0_REG_TILED
#define L0_REG_TILED 1
#endif
#ifndef L1_REG_TILED
#define L1_REG_TILED 0
#endif

constexpr int H = LAB_HIDDEN;  // hidden units
constexpr int V = 256;         // tokens
constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int CHUNKS = H / 256;  // a warp takes a row in chunks of 32 lanes × 8 elements
static_assert(THREADS == V, "a thread draws a token's noise");
constexpr float EPSILON = 1e-5f;
constexpr unsigned ALL = 0xffffffffu;
static_assert(H % 256 == 0, "a chunk is 256 elements");

using bf16 = __nv_bfloat16;

// ---- Dot products: lane l of a warp has elements 256·k + 8·l … + 7 of chunk k -------------------

// Eight weights, as they lie in memory.
__device__ inline uint4 load_weights(const bf16* row, int chunk, int lane) {
    return reinterpret_cast<const uint4*>(row)[chunk * 32 + lane];
}

struct Eight {
    float4 low, high;
};

__device__ inline Eight load_vector(const float* vector, int chunk, int lane) {
    const float4* at = reinterpret_cast<const float4*>(vector) + (chunk * 32 + lane) * 2;
    return {at[0], at[1]};
}

// A bf16 is the upper half of an f32.
__device__ inline float first(unsigned pair) { return __uint_as_float(pair << 16); }
__device__ inline float second(unsigned pair) { return __uint_as_float(pair & 0xffff0000u); }

__device__ inline float dot(uint4 w, const Eight& x, float sum) {
    sum = fmaf(first(w.x), x.low.x, sum);
    sum = fmaf(second(w.x), x.low.y, sum);
    sum = fmaf(first(w.y), x.low.z, sum);
    sum = fmaf(second(w.y), x.low.w, sum);
    sum = fmaf(first(w.z), x.high.x, sum);
    sum = fmaf(second(w.z), x.high.y, sum);
    sum = fmaf(first(w.w), x.high.z, sum);
    return fmaf(second(w.w), x.high.w, sum);
}

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// ---- RMS norm: the whole block, in place; every block does it for itself -------------------------

__device__ inline void rms_norm(float* x, const float* __restrict__ gain, float* partial) {
    const int thread = threadIdx.x;
    float squares = 0.0f;
    for (int i = thread; i < H; i += THREADS) squares = fmaf(x[i], x[i], squares);
    squares = lab_warp_sum(squares);
    if (thread % 32 == 0) partial[thread / 32] = squares;
    __syncthreads();
    float sum = 0.0f;
    for (int warp = 0; warp < WARPS; ++warp) sum += partial[warp];
    const float scale = 1.0f / sqrtf(sum / H + EPSILON);
    for (int i = thread; i < H; i += THREADS) x[i] = gain[i] * x[i] * scale;
    __syncthreads();
}

// ---- GRU cell: a warp a hidden unit --------------------------------------------------------------

struct Layer {
    const bf16* __restrict__ w_ih;
    const bf16* __restrict__ w_hh;
    const float* __restrict__ b_ih;
    const float* __restrict__ b_hh;
};

// One unit's rows of gates r, z, n, this lane's part: 24·CHUNKS registers.
struct Tile {
    uint4 ih[3][CHUNKS];
    uint4 hh[3][CHUNKS];
};

__device__ inline void load_tile(Tile& tile, const Layer& layer, int unit, int lane) {
#pragma unroll
    for (int gate = 0; gate < 3; ++gate) {
        const size_t row = size_t(gate * H + unit) * H;
#pragma unroll
        for (int k = 0; k < CHUNKS; ++k) {
            tile.ih[gate][k] = load_weights(layer.w_ih + row, k, lane);
            tile.hh[gate][k] = load_weights(layer.w_hh + row, k, lane);
        }
    }
}

// The unit's new state, in lane 0. `input` and `state` are in shared memory.
__device__ inline float gru_cell(const Tile& tile, const Layer& layer, int unit, int lane, const float* input,
                                 const float* state) {
    float r = 0.0f, z = 0.0f, n_input = 0.0f, n_state = 0.0f;
#pragma unroll
    for (int k = 0; k < CHUNKS; ++k) {
        const Eight x = load_vector(input, k, lane), h = load_vector(state, k, lane);
        r = dot(tile.hh[0][k], h, dot(tile.ih[0][k], x, r));
        z = dot(tile.hh[1][k], h, dot(tile.ih[1][k], x, z));
        n_input = dot(tile.ih[2][k], x, n_input);
        n_state = dot(tile.hh[2][k], h, n_state);
    }
    r = lab_warp_sum(r);
    z = lab_warp_sum(z);
    n_input = lab_warp_sum(n_input);
    n_state = lab_warp_sum(n_state);
    if (lane != 0) return 0.0f;
    r = sigmoid(r + layer.b_ih[unit] + layer.b_hh[unit]);
    z = sigmoid(z + layer.b_ih[H + unit] + layer.b_hh[H + unit]);
    const float c = tanhf(n_input + layer.b_ih[2 * H + unit] + r * (n_state + layer.b_hh[2 * H + unit]));
    return (1.0f - z) * c + z * state[unit];
}

// Every unit that is this warp's: the one in its tile, or each from memory.
__device__ inline void gru_layer(bool tiled, const Tile& tile, const Layer& layer, const float* input,
                                 const float* state, float* out) {
    const int lane = threadIdx.x % 32, warp = blockIdx.x * WARPS + threadIdx.x / 32;
    if (tiled) {
        if (warp >= H) return;
        const float h = gru_cell(tile, layer, warp, lane, input, state);
        if (lane == 0) out[warp] = h;
        return;
    }
    for (int unit = warp; unit < H; unit += gridDim.x * WARPS) {
        Tile from_memory;
        load_tile(from_memory, layer, unit, lane);
        const float h = gru_cell(from_memory, layer, unit, lane, input, state);
        if (lane == 0) out[unit] = h;
    }
}

// ---- Sampling: one warp --------------------------------------------------------------------------

// A word that sorts as the float does.
__device__ inline unsigned ordered(float value) {
    const unsigned bits = __float_as_uint(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ inline float unordered(unsigned word) {
    return __uint_as_float(word & 0x80000000u ? word & 0x7fffffffu : ~word);
}

// The token that min-p and Gumbel-max pick, in every lane; the lowest of equal ones. `noise` is there for all tokens.
__device__ inline int sample(const float* logits, const float* noise, const LabRun& run, int lane) {
    float logit[V / 32], largest;
#pragma unroll
    for (int i = 0; i < V / 32; ++i) {
        logit[i] = logits[i * 32 + lane] / run.temperature;
        largest = i == 0 ? logit[i] : fmaxf(largest, logit[i]);
    }
    const float threshold = unordered(__reduce_max_sync(ALL, ordered(largest))) + logf(run.min_p);
    unsigned best = 0, token = V;
#pragma unroll
    for (int i = 0; i < V / 32; ++i) {
        const unsigned score = ordered(logit[i] + noise[i * 32 + lane]);
        if (logit[i] >= threshold && score > best) best = score, token = i * 32 + lane;
    }
    const unsigned winner = __reduce_max_sync(ALL, best);
    return __reduce_min_sync(ALL, best == winner ? token : V);
}

// softmax(logits)[token], in every lane.
__device__ inline float probability(const float* logits, float temperature, int token, int lane) {
    float largest = logits[lane] / temperature;
    for (int i = lane + 32; i < V; i += 32) largest = fmaxf(largest, logits[i] / temperature);
    for (int bits = 16; bits > 0; bits /= 2) largest = fmaxf(largest, __shfl_xor_sync(ALL, largest, bits));
    float sum = 0.0f;
    for (int i = lane; i < V; i += 32) sum += expf(logits[i] / temperature - largest);
    return expf(logits[token] / temperature - largest) / lab_warp_sum(sum);
}

// ---- The kernel ----------------------------------------------------------------------------------

// `forced` is null for sampling, which writes `tokens`. Otherwise the run is teacher-forced: the input at step t is
// forced[t - 1], and `teacher_prob` gets the probability of forced[t]. `h0` and `h1` hold the start states, and the
// final states afterwards. `work` is scratch memory, zeros before every launch.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    wavegru(const bf16* __restrict__ embed, const float* __restrict__ rms_gain0, const float* __restrict__ rms_gain1,
            const bf16* __restrict__ w_ih0, const bf16* __restrict__ w_hh0, const bf16* __restrict__ w_ih1,
            const bf16* __restrict__ w_hh1, const float* __restrict__ b_ih0, const float* __restrict__ b_hh0,
            const float* __restrict__ b_ih1, const float* __restrict__ b_hh1, const bf16* __restrict__ w_glu,
            const float* __restrict__ b_glu, const bf16* __restrict__ w_out, const float* __restrict__ b_out,
            float* h0, float* h1, const int* __restrict__ forced, int* tokens, float* teacher_prob, float* work,
            LabRun run) {
    __shared__ __align__(16) float h0_now[H];
    __shared__ __align__(16) float h1_now[H];
    __shared__ __align__(16) float vector[H];  // what the present phase multiplies by
    __shared__ float noise[V];
    __shared__ float partial[WARPS];
    __shared__ int next_token;

    const cg::grid_group grid = cg::this_grid();
    const int thread = threadIdx.x, lane = thread % 32, warps = gridDim.x * WARPS;
    const int warp = blockIdx.x * WARPS + thread / 32;
    const Layer layer0 = {w_ih0, w_hh0, b_ih0, b_hh0}, layer1 = {w_ih1, w_hh1, b_ih1, b_hh1};
    float* const glu = work;
    float* const logits = work + H;

    // With a warp for every hidden unit, the tiles hold a layer's weights for the whole run.
    const bool tiled0 = L0_REG_TILED && warps >= H, tiled1 = L1_REG_TILED && warps >= H;
    Tile tile0, tile1;
    if (tiled0 && warp < H) load_tile(tile0, layer0, warp, lane);
    if (tiled1 && warp < H) load_tile(tile1, layer1, warp, lane);

    for (int i = thread; i < H; i += THREADS) {
        h0_now[i] = h0[i];
        h1_now[i] = h1[i];
    }
    grid.sync();  // all have read the start states; from here on h0 and h1 are where the new ones appear

    int token = run.first_token;
    for (int t = 0; t < run.steps; ++t) {
        // L0 embed + RMS, L0 GRU
        const bf16* const embedding = embed + token * H;
        for (int i = thread; i < H; i += THREADS) vector[i] = __bfloat162float(embedding[i]);
        rms_norm(vector, rms_gain0, partial);
        gru_layer(tiled0, tile0, layer0, vector, h0_now, h0);
        grid.sync();

        // L1 prep + RMS, L1 GRU
        for (int i = thread; i < H; i += THREADS) {
            h0_now[i] = h0[i];
            vector[i] = __bfloat162float(embedding[i]) + h0_now[i];
        }
        rms_norm(vector, rms_gain1, partial);
        gru_layer(tiled1, tile1, layer1, vector, h1_now, h1);
        grid.sync();

        // GLU
        for (int i = thread; i < H; i += THREADS) h1_now[i] = h1[i];
        __syncthreads();
        for (int unit = warp; unit < H; unit += warps) {
            float value = 0.0f, gate = 0.0f;
#pragma unroll
            for (int k = 0; k < CHUNKS; ++k) {
                const Eight x = load_vector(h1_now, k, lane);
                value = dot(load_weights(w_glu + size_t(unit) * H, k, lane), x, value);
                gate = dot(load_weights(w_glu + size_t(H + unit) * H, k, lane), x, gate);
            }
            value = lab_warp_sum(value);
            gate = lab_warp_sum(gate);
            if (lane == 0) glu[unit] = (value + b_glu[unit]) * sigmoid(gate + b_glu[H + unit]);
        }
        grid.sync();

        // Output GEMV
        for (int i = thread; i < H; i += THREADS) vector[i] = glu[i];
        __syncthreads();
        for (int row = thread / 32 * gridDim.x + blockIdx.x; row < V; row += warps) {
            float sum = 0.0f;
#pragma unroll
            for (int k = 0; k < CHUNKS; ++k) {
                sum = dot(load_weights(w_out + size_t(row) * H, k, lane), load_vector(vector, k, lane), sum);
            }
            sum = lab_warp_sum(sum);
            if (lane == 0) logits[row] = sum + b_out[row];
        }
        noise[thread] = lab_gumbel(run.seed_low, run.seed_high, t, thread);
        grid.sync();

        // Sampling, or the next forced token
        if (forced) {
            token = forced[t];
            if (warp == 0) {
                const float p = probability(logits, run.temperature, token, lane);
                if (lane == 0) teacher_prob[t] = p;
            }
            continue;
        }
        if (thread < 32) {
            const int picked = sample(logits, noise, run, lane);
            if (lane == 0) next_token = picked;
            if (warp == 0 && lane == 0) tokens[t] = picked;
        }
        __syncthreads();
        token = next_token;
    }
}

LAB_LAUNCH(wavegru) {
    const unsigned wanted = dims.hidden / WARPS;  // a warp a hidden unit
    launch.grid[0] = wanted < device.sms ? wanted : device.sms;
    launch.block[0] = THREADS;
    launch.cooperative = 1;
}
