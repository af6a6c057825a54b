// WaveGRU 1024×2: one persistent, cooperative kernel that generates audio samples one after the other.
//
// All weights stay on the chip. A block owns UNITS hidden units of both layers, a warp owns one of them (OWN on the cpu
// device), and a thread owns one of the 256 tokens. In each step a block waits for the other blocks twice:
//
//   phase  computes                             work split                        exchanged as
//   L0     GRU cell, input from the table       four units per thread, in every block alike
//   L1     embedding + h0, RMS norm, GRU cell   one unit per warp                 h1, as marked values
//   GLU    value · σ(gate)                      one unit per warp
//   out    this block's share of the logits     one token per thread              logits, as counted sums
//   pick   min-p and Gumbel-max                 every warp for itself, all alike
//
// Layer 0 needs no exchange of its own. Its input is one of 256 embeddings; their products with the input weights are a
// table, computed before the first step. Its products with the old state are computed and exchanged while the block
// waits for h1. What remains is a few operations per unit, which every block does for all units.
// README.md has the cost of a step and the experiments.
#include "lab.h"

using bf16 = unsigned short;  // the upper half of an f32
using u64 = unsigned long long;

constexpr int H = LAB_HIDDEN;  // hidden units
constexpr int V = 256;         // tokens
constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
#ifdef LAB_CPU
constexpr int BLOCKS = 16;  // fewer threads are cheaper to emulate; the weights stay in memory
constexpr bool ON_CHIP = false;
#else
constexpr int BLOCKS = H / WARPS;
constexpr bool ON_CHIP = true;  // recurrent weights in shared memory, 96 KiB per block
#endif
constexpr int UNITS = H / BLOCKS;   // of a block
constexpr int OWN = UNITS / WARPS;  // of a warp
constexpr int CHUNKS = H / 128;     // a warp reads a row in chunks of 32 lanes × 4 elements
constexpr int GROUP = 8;            // units whose table entries are computed together
constexpr int WAITING = CHUNKS < 4 ? CHUNKS : 4;  // chunks unrolled while the block waits for others: less code, as fast
constexpr float EPSILON = 1e-5f;
constexpr unsigned ALL = 0xffffffffu;
static_assert(H % 128 == 0 && UNITS % WARPS == 0 && UNITS % GROUP == 0, "whole chunks, and units for every warp");
static_assert(THREADS == V, "a thread a token");
static_assert(BLOCKS <= 255, "what a counted sum can count");

// ---- Dot products: lane l of a warp holds elements 128·k + 4·l … + 3 of chunk k --------------------

__device__ inline uint2 weights(const bf16* row, int chunk, int lane) {
    return reinterpret_cast<const uint2*>(row)[chunk * 32 + lane];
}

// A bf16 is the upper half of an f32.
__device__ inline float first(unsigned pair) { return __uint_as_float(pair << 16); }
__device__ inline float second(unsigned pair) { return __uint_as_float(pair & 0xffff0000u); }

__device__ inline float dot(uint2 w, float4 x, float sum) {
    sum = fmaf(first(w.x), x.x, sum);
    sum = fmaf(second(w.x), x.y, sum);
    sum = fmaf(first(w.y), x.z, sum);
    return fmaf(second(w.y), x.w, sum);
}

__device__ inline float dot(float4 w, float4 x, float sum) {
    return fmaf(w.w, x.w, fmaf(w.z, x.z, fmaf(w.y, x.y, fmaf(w.x, x.x, sum))));
}

// This lane's part of N rows, in registers.
template <int N>
struct Rows {
    uint2 part[N][CHUNKS];

    __device__ inline void load(const bf16* matrix, size_t unit, int lane) {
#pragma unroll
        for (int row = 0; row < N; ++row) {
#pragma unroll
            for (int k = 0; k < CHUNKS; ++k) part[row][k] = weights(matrix + (row * H + unit) * H, k, lane);
        }
    }
    __device__ inline uint2 at(int row, int k, int) const { return part[row][k]; }
};

// The same, widened to f32 once: twice the registers, half the instructions. Without lab_pin the compiler would widen
// at each use.
template <int N>
struct Wide {
    float4 part[N][CHUNKS];

    __device__ inline void load(const bf16* matrix, size_t unit, int lane) {
#pragma unroll
        for (int row = 0; row < N; ++row) {
#pragma unroll
            for (int k = 0; k < CHUNKS; ++k) {
                const uint2 w = weights(matrix + (row * H + unit) * H, k, lane);
                part[row][k] = make_float4(first(w.x), second(w.x), first(w.y), second(w.y));
                lab_pin(part[row][k].x), lab_pin(part[row][k].y), lab_pin(part[row][k].z), lab_pin(part[row][k].w);
            }
        }
    }
    __device__ inline float4 at(int row, int k, int) const { return part[row][k]; }
};

// A unit's rows of gates r, z, n, in shared or global memory; the rows are `apart` elements from one another.
struct Stored {
    const bf16* matrix;
    size_t apart;
    __device__ inline uint2 at(int row, int k, int lane) const { return weights(matrix + row * apart, k, lane); }
};

// Multiplies rows by a vector in shared memory. Every lane gets all sums.
template <int UNROLL = CHUNKS, int N, class R>
__device__ inline void multiply(const R& rows, const float* vector, int lane, float (&sums)[N]) {
#pragma unroll
    for (int row = 0; row < N; ++row) sums[row] = 0.0f;
#pragma unroll(UNROLL)
    for (int k = 0; k < CHUNKS; ++k) {
        const float4 x = reinterpret_cast<const float4*>(vector)[k * 32 + lane];
#pragma unroll
        for (int row = 0; row < N; ++row) sums[row] = dot(rows.at(row, k, lane), x, sums[row]);
    }
#pragma unroll
    for (int row = 0; row < N; ++row) sums[row] = lab_warp_sum(sums[row]);
}

// ---- What a step computes --------------------------------------------------------------------------

// Uses the hardware's exponential and division. The error is at most 3e-7, and most of a gate's instructions are saved.
__device__ inline float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
__device__ inline float tanh_of(float x) { return 1.0f - 2.0f * sigmoid(-2.0f * x); }

// Returns a unit's new state from the sums of its gates with their biases, as PyTorch's GRUCell does.
__device__ inline float gru_cell(float r, float z, float n_input, float n_state, float h) {
    const float c = tanh_of(n_input + sigmoid(r) * n_state);
    const float keep = sigmoid(z);
    return (1.0f - keep) * c + keep * h;
}

// Returns an unsigned word that has the same order as the float.
__device__ inline unsigned ordered(float value) {
    const unsigned bits = __float_as_uint(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ inline float unordered(unsigned word) {
    return __uint_as_float(word & 0x80000000u ? word & 0x7fffffffu : ~word);
}

// Returns the token that min-p and Gumbel-max pick, in every lane. Of equal scores the lowest token wins.
__device__ inline int sample(const float* logits, const float* noise, float log_min_p, int lane) {
    float largest = logits[lane];
#pragma unroll
    for (int i = 32; i < V; i += 32) largest = fmaxf(largest, logits[i + lane]);
    const float threshold = unordered(__reduce_max_sync(ALL, ordered(largest))) + log_min_p;
    unsigned score[V / 32], best = 0, token = V;
#pragma unroll
    for (int i = 0; i < V / 32; ++i) {
        const float logit = logits[i * 32 + lane];
        score[i] = logit >= threshold ? ordered(logit + noise[i * 32 + lane]) : 0;
        best = max(best, score[i]);
    }
    best = __reduce_max_sync(ALL, best);
#pragma unroll
    for (int i = V / 32 - 1; i >= 0; --i) token = score[i] == best ? i * 32 + lane : token;
    return __reduce_min_sync(ALL, token);
}

// Returns softmax(logits)[token], in every lane.
__device__ inline float probability(const float* logits, int token, int lane) {
    float largest = logits[lane];
#pragma unroll 1
    for (int i = lane + 32; i < V; i += 32) largest = fmaxf(largest, logits[i]);
    largest = unordered(__reduce_max_sync(ALL, ordered(largest)));
    float sum = 0.0f;
#pragma unroll 1
    for (int i = lane; i < V; i += 32) sum += expf(logits[i] - largest);
    return expf(logits[token] - largest) / lab_warp_sum(sum);
}

// ---- Before the first step -------------------------------------------------------------------------

// Copies the rows of a block's units to shared memory: unit by unit, gates r, z, n. All threads must call it.
__device__ inline void bring(bf16* chip, const bf16* matrix, int first_unit) {
    constexpr int WORDS = H / 8;  // 16 bytes each
#pragma unroll 1
    for (int i = threadIdx.x; i < 3 * UNITS * WORDS; i += THREADS) {
        const int row = i / WORDS, unit = first_unit + row / 3, gate = row % 3;
        const uint4* from = reinterpret_cast<const uint4*>(matrix + size_t(gate * H + unit) * H);
        reinterpret_cast<uint4*>(chip)[i] = from[i % WORDS];
    }
}

// Computes w_ih0 · norm(embedding) for this thread's token and GROUP units. The sums are kept in shared memory: in
// registers each row would be unrolled code, and more code takes longer to build.
__device__ inline void token_table(float (*sums)[3][THREADS], const bf16* embedding, const float* gain, const bf16* w,
                                   size_t unit_apart, size_t gate_apart) {
    constexpr int PART = ON_CHIP ? 16 : 128;  // elements at a time; each part has its own sum, so rounding errors are smaller
    float squares = 0.0f;
#pragma unroll 1
    for (int begin = 0; begin < H; begin += PART) {
        float4 x[PART / 4];
        float part_squares = 0.0f;
#pragma unroll
        for (int i = 0; i < PART / 4; ++i) {
            const uint2 e = reinterpret_cast<const uint2*>(embedding + begin)[i];
            const float4 g = reinterpret_cast<const float4*>(gain + begin)[i];
            const float4 y = make_float4(first(e.x), second(e.x), first(e.y), second(e.y));
            part_squares = dot(y, y, part_squares);
            x[i] = make_float4(g.x * y.x, g.y * y.y, g.z * y.z, g.w * y.w);
        }
        squares += part_squares;
#pragma unroll 1
        for (int unit = 0; unit < GROUP; ++unit) {
#pragma unroll 1
            for (int gate = 0; gate < 3; ++gate) {
                const uint2* row = reinterpret_cast<const uint2*>(w + unit * unit_apart + gate * gate_apart + begin);
                float part = 0.0f;
#pragma unroll
                for (int i = 0; i < PART / 4; ++i) part = dot(row[i], x[i], part);
                float& sum = sums[unit][gate][threadIdx.x];
                sum = begin == 0 ? part : sum + part;
            }
        }
    }
    const float scale = rsqrtf(squares / H + EPSILON);
#pragma unroll 1
    for (int row = 0; row < 3 * GROUP; ++row) sums[row / 3][row % 3][threadIdx.x] *= scale;
}

// ---- The kernel ----------------------------------------------------------------------------------

// Scratch memory, zeros before the launch. A word of one exchange may be written again after the next exchange: a block
// that has the logits of a step knows that every block has read that step's h1 and state products, because each block's
// share of the logits is computed from them.
struct Work {
    float table[V][3][H];   // layer 0's input products for each token, biases added
    float state0[2][3][H];  // marked: layer 0's state products, biases added; two used alternately
    float h1[H];            // marked
    u64 logits[V / 4][32];  // counted; four tokens every 256 bytes, because additions to different lines run in parallel
    unsigned arrivals;
};

// The mark of a word changes with every value that is written to it. The first mark is 1.
__device__ inline unsigned state_mark(int step) { return step / 2 + 1; }
__device__ inline unsigned h1_mark(int step) { return step + 1; }

struct Shared {
    float h0[H], h1[H];     // the present states
    float input[H];         // gain · (embedding + h0): the input of layer 1, before the norm's scale
    float squares[THREADS];
    float glu[UNITS];
    float logits[V], noise[V];
    float products[GROUP][3][THREADS];  // before the first step
};

// If `forced` is null, the launch samples and writes `tokens`. Otherwise it is teacher-forced: the input of step t is
// forced[t - 1], and teacher_prob[t] gets the probability of forced[t]. `h0` and `h1` hold the start states on entry and
// the final states on exit.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    wavegru(const bf16* __restrict__ embed, const float* __restrict__ rms_gain0, const float* __restrict__ rms_gain1,
            const bf16* __restrict__ w_ih0, const bf16* __restrict__ w_hh0, const bf16* __restrict__ w_ih1,
            const bf16* __restrict__ w_hh1, const float* __restrict__ b_ih0, const float* __restrict__ b_hh0,
            const float* __restrict__ b_ih1, const float* __restrict__ b_hh1, const bf16* __restrict__ w_glu,
            const float* __restrict__ b_glu, const bf16* __restrict__ w_out, const float* __restrict__ b_out,
            float* h0, float* h1, const int* __restrict__ forced, int* tokens, float* teacher_prob, Work* work,
            LabRun run) {
    extern __shared__ __align__(16) bf16 chip[];
    __shared__ Shared shared;

    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int first_unit = blockIdx.x * UNITS;  // of the block
    const int mine = warp * OWN;                // first unit of this warp, within the block
    constexpr size_t UNIT_APART = ON_CHIP ? 3 * H : H, GATE_APART = ON_CHIP ? H : size_t(H) * H;

    // Layer 0's input weights are needed only for the table. The recurrent weights replace them afterwards.
    const bf16* const ih0 = ON_CHIP ? chip : w_ih0 + size_t(first_unit) * H;
    const bf16* const hh0 = ON_CHIP ? chip : w_hh0 + size_t(first_unit) * H;
    const bf16* const hh1 = ON_CHIP ? chip + 3 * UNITS * H : w_hh1 + size_t(first_unit) * H;
    if (ON_CHIP) {
        bring(chip, w_ih0, first_unit);
        __syncthreads();
    }
#pragma unroll 1
    for (int begin = 0; begin < UNITS; begin += GROUP) {
        token_table(shared.products, embed + thread * H, rms_gain0, ih0 + begin * UNIT_APART, UNIT_APART, GATE_APART);
#pragma unroll 1
        for (int row = 0; row < 3 * GROUP; ++row) {
            const int unit = first_unit + begin + row / 3, gate = row % 3;
            work->table[thread][gate][unit] = shared.products[row / 3][gate][thread] + b_ih0[gate * H + unit];
        }
    }
    lab_grid_barrier(&work->arrivals);  // the table is complete
    if (ON_CHIP) {
        bring(chip, w_hh0, first_unit);
        bring(chip + 3 * UNITS * H, w_hh1, first_unit);
    }
    for (int i = thread; i < H; i += THREADS) {
        shared.h0[i] = h0[i];
        shared.h1[i] = h1[i];
    }

    // Kept in registers: this warp's rows of layer 1's input weights and of the GLU, and the token's output weights.
    Wide<3> ih1[OWN];
    Wide<2> glu[OWN];
    float bias0[OWN][3], bias1[OWN][4], bias_glu[OWN][2], h1_own[OWN], state1[OWN][3];
    uint2 out[UNITS / 4];
#pragma unroll
    for (int own = 0; own < OWN; ++own) {
        const int unit = first_unit + mine + own;
        ih1[own].load(w_ih1, unit, lane);
        glu[own].load(w_glu, unit, lane);
        for (int gate = 0; gate < 3; ++gate) bias0[own][gate] = b_hh0[gate * H + unit];
        bias1[own][0] = b_ih1[unit] + b_hh1[unit];
        bias1[own][1] = b_ih1[H + unit] + b_hh1[H + unit];
        bias1[own][2] = b_ih1[2 * H + unit];
        bias1[own][3] = b_hh1[2 * H + unit];
        bias_glu[own][0] = b_glu[unit];
        bias_glu[own][1] = b_glu[H + unit];
        h1_own[own] = h1[unit];
    }
#pragma unroll
    for (int i = 0; i < UNITS / 4; ++i) {
        out[i] = reinterpret_cast<const uint2*>(w_out + size_t(thread) * H + first_unit)[i];
    }
    const float bias_out = blockIdx.x == 0 ? b_out[thread] : 0.0f;
    const bool fetches = 4 * thread < H;  // elements 4·thread … + 3 of every exchanged vector
    const float4 gain1 = fetches ? reinterpret_cast<const float4*>(rms_gain1)[thread] : float4{};
    const float log_min_p = logf(run.min_p), sharpness = 1.0f / run.temperature;
    u64* const logit_sum = &work->logits[thread / 4][thread % 4];
    u64 logit_before = 0;
    __syncthreads();

    // Computes and publishes layer 0's products with its present state, biases added. The cell of step t needs them.
    const auto layer0_state_sums = [&](int t) {
#pragma unroll
        for (int own = 0; own < OWN; ++own) {
            float sums[3];
            multiply<WAITING>(Stored{hh0 + (mine + own) * UNIT_APART, GATE_APART}, shared.h0, lane, sums);
            const float sum = lane == 0 ? sums[0] + bias0[own][0] : lane == 1 ? sums[1] + bias0[own][1] : sums[2] + bias0[own][2];
            if (lane < 3) lab_store_marked(&work->state0[t % 2][lane][first_unit + mine + own], sum, state_mark(t));
        }
    };
    const auto layer1_state_sums = [&] {
#pragma unroll
        for (int own = 0; own < OWN; ++own) {
            multiply<WAITING>(Stored{hh1 + (mine + own) * UNIT_APART, GATE_APART}, shared.h1, lane, state1[own]);
        }
    };
    float4 h0_mine = fetches ? reinterpret_cast<const float4*>(shared.h0)[thread] : float4{}, state0[3];

    // One turn of the loop ends step t - 1, whose h1 is on its way, and begins step t. The code of the state products is
    // therefore needed once only, for the start states too.
    int token = run.first_token;
    for (int t = 0;; ++t) {
        layer0_state_sums(t);

        if (t > 0) {
            // GLU
            if (fetches) {
                reinterpret_cast<float4*>(shared.h1)[thread] = lab_load_marked(&work->h1[4 * thread], h1_mark(t - 1));
            }
            __syncthreads();
#pragma unroll
            for (int own = 0; own < OWN; ++own) {
                float sums[2];
                multiply(glu[own], shared.h1, lane, sums);
                const float g = (sums[0] + bias_glu[own][0]) * sigmoid(sums[1] + bias_glu[own][1]);
                if (lane == 0) shared.glu[mine + own] = g;
            }
            __syncthreads();

            // This block's share of a logit
            float share = bias_out;
#pragma unroll
            for (int i = 0; i < UNITS / 4; ++i) share = dot(out[i], reinterpret_cast<const float4*>(shared.glu)[i], share);
            lab_add_counted(logit_sum, share);
        }

        // Work that needs no token, while the other blocks' shares are on their way
        layer1_state_sums();
        if (t > 0) {
            shared.noise[thread] = lab_gumbel(run.seed_low, run.seed_high, t - 1, thread);

            // Sampling, or the next forced token
            const u64 logit = lab_load_counted(logit_sum, BLOCKS * t);
            shared.logits[thread] = lab_counted_between(logit_before, logit) * sharpness;
            logit_before = logit;
            __syncthreads();
            if (forced) {
                token = forced[t - 1];
                if (blockIdx.x == 0 && warp == 0) {
                    const float p = probability(shared.logits, token, lane);
                    if (lane == 0) teacher_prob[t - 1] = p;
                }
            } else {
                token = sample(shared.logits, shared.noise, log_min_p, lane);
                if (blockIdx.x == 0 && thread == 0) tokens[t - 1] = token;
            }
        } else {
            __syncthreads();  // all threads have read the start states
        }
        if (t == run.steps) break;

        // L0 GRU, and L1's input
        float squares = 0.0f;
        if (fetches) {
            const uint2 x = reinterpret_cast<const uint2*>(embed + token * H)[thread];
            const float4 *const row = reinterpret_cast<const float4*>(work->table[token]) + thread;
            lab_load_marked(&work->state0[t % 2][0][4 * thread], H, state_mark(t), state0);
            const float4 r = row[0], z = row[H / 4], n = row[H / 2];
            h0_mine.x = gru_cell(r.x + state0[0].x, z.x + state0[1].x, n.x, state0[2].x, h0_mine.x);
            h0_mine.y = gru_cell(r.y + state0[0].y, z.y + state0[1].y, n.y, state0[2].y, h0_mine.y);
            h0_mine.z = gru_cell(r.z + state0[0].z, z.z + state0[1].z, n.z, state0[2].z, h0_mine.z);
            h0_mine.w = gru_cell(r.w + state0[0].w, z.w + state0[1].w, n.w, state0[2].w, h0_mine.w);
            const float4 h = h0_mine;
            const float4 y = make_float4(first(x.x) + h.x, second(x.x) + h.y, first(x.y) + h.z, second(x.y) + h.w);
            squares = fmaf(y.x, y.x, fmaf(y.y, y.y, fmaf(y.z, y.z, y.w * y.w)));
            reinterpret_cast<float4*>(shared.h0)[thread] = h;
            reinterpret_cast<float4*>(shared.input)[thread] =
                make_float4(gain1.x * y.x, gain1.y * y.y, gain1.z * y.z, gain1.w * y.w);
        }
        shared.squares[thread] = squares;
        __syncthreads();

        // L1 GRU
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < THREADS / 128; ++i) {
            const float4 four = reinterpret_cast<const float4*>(shared.squares)[i * 32 + lane];
            sum += (four.x + four.y) + (four.z + four.w);
        }
        const float scale = rsqrtf(lab_warp_sum(sum) / H + EPSILON);
#pragma unroll
        for (int own = 0; own < OWN; ++own) {
            float sums[3];
            multiply(ih1[own], shared.input, lane, sums);
            const float r = fmaf(scale, sums[0], state1[own][0] + bias1[own][0]);
            const float z = fmaf(scale, sums[1], state1[own][1] + bias1[own][1]);
            h1_own[own] = gru_cell(r, z, fmaf(scale, sums[2], bias1[own][2]), state1[own][2] + bias1[own][3], h1_own[own]);
            if (lane == 0) lab_store_marked(&work->h1[first_unit + mine + own], h1_own[own], h1_mark(t));
        }
    }

    if (thread < UNITS) h0[first_unit + thread] = shared.h0[first_unit + thread];
    if (thread < UNITS) h1[first_unit + thread] = shared.h1[first_unit + thread];
}

LAB_LAUNCH(wavegru) {
    launch.grid[0] = BLOCKS;
    launch.block[0] = THREADS;
    launch.shared_bytes = ON_CHIP ? 6 * UNITS * H * sizeof(bf16) : 0;
    launch.cooperative = 1;  // all blocks must be resident at once, because they wait for one another
}
