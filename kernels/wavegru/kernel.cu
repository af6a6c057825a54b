// WaveGRU 1024×2: one persistent, cooperative kernel that generates audio samples one after the other.
//
// All weights stay on the chip. A block owns UNITS hidden units of both layers. A warp owns SPAN columns of every matrix:
// it multiplies all rows of the block by its part of the vector, and the parts of a sum meet in shared memory. So a warp
// takes its part of a new vector from memory by itself, as soon as it is there. Each lane loads four elements of the part
// and passes them to the other lanes through shared memory: loads of the same words by several lanes take longer.
//
// In each step a block waits for the other blocks twice:
//
//   phase  computes                             work split                       exchanged as
//   L0     takes the token's next state         SPAN units per warp
//   L1     embedding + h0, RMS norm, GRU cell   SPAN columns per warp            h1, as marked values
//   GLU    value · σ(gate)                      SPAN columns per warp
//   out    this block's share of the logits     two tokens per thread            logits, as sums in fixed point
//   pick   min-p and Gumbel-max                 one warp of each block, all alike
//
// Layer 0 needs no exchange that a block waits for. Its input is one of 256 embeddings, so while the logits are on their
// way, each block publishes the next state of its units for every token. README.md has the experiments.
#include "lab.h"
using bf16 = unsigned short;  // the upper half of an f32
using u64 = unsigned long long;
constexpr int H = LAB_HIDDEN, V = 256;  // hidden units, tokens
constexpr int THREADS = 256, WARPS = THREADS / 32;
#ifdef LAB_CPU
constexpr int BLOCKS = 16;  // fewer threads are cheaper to emulate; the weights stay in memory
#else
constexpr int BLOCKS = H / 8;
#endif
constexpr bool AHEAD = BLOCKS == H / 8;               // computes layer 0 for all tokens, else for the picked one only
constexpr int UNITS = H / BLOCKS;                     // of a block
constexpr int GROUPS = UNITS / 8, QUADS = UNITS / 4;  // of eight units, which one warp finishes, and of four
constexpr int SPAN = H / WARPS;                       // columns of a warp
constexpr int PART = SPAN / 4;                        // the same in fours: a lane loads one of them
constexpr int FOURS = PART / 8;                       // of the part, which a lane multiplies: fours lane % 8 + 8·j
constexpr int COPIES = 2;   // of h1 in memory, each for some of the blocks: all blocks read it at once
constexpr int PICKING = 2;  // the warp that picks the token
constexpr float EPSILON = 1e-5f, LOG2_E = 1.44269504f;
constexpr float SHARE_UNIT = 1 << 21, LOGIT_UNIT = 1 << 25;  // of a block's shares and of logits, in fixed point
constexpr float SQUARES_UNIT = 1 << 22;  // of sums in fixed point, which one instruction adds: elements must stay below 2.8
constexpr unsigned ALL = 0xffffffffu;
static_assert(UNITS % 8 == 0 && GROUPS <= WARPS && SPAN % 32 == 0 && SPAN <= 128 && THREADS == V && BLOCKS <= 255);

// ---- Matrix times vector ---------------------------------------------------------------------------
__device__ inline float4 widen(uint2 w) {  // four bf16
    return make_float4(__uint_as_float(w.x << 16), __uint_as_float(w.x & 0xffff0000u), __uint_as_float(w.y << 16),
                       __uint_as_float(w.y & 0xffff0000u));
}
__device__ inline float4 widen(uint4 w, int half) { return widen(half ? make_uint2(w.z, w.w) : make_uint2(w.x, w.y)); }
__device__ inline float4 scaled(float4 a, float f) { return make_float4(a.x * f, a.y * f, a.z * f, a.w * f); }
__device__ inline float4 times(float4 a, float4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
__device__ inline float dot(float4 w, float4 x, float sum = 0.0f) {
    return fmaf(w.w, x.w, fmaf(w.z, x.z, fmaf(w.y, x.y, fmaf(w.x, x.x, sum))));
}

// The sums of eight units, N rows for each. A row has parts, LANES of each warp. The padding makes 36 words of it on a GPU:
// the lanes that write together, and those that read together, are in different banks.
template <int N>
struct alignas(16) Sums {
    static constexpr int LANES = AHEAD ? 4 : 1, EACH = WARPS * LANES / 4;
    float part[N][8][4 * EACH + (AHEAD ? 4 : 0)];
    // Gives lanes 4·u … 4·u + 3 the sums of unit u.
    __device__ inline void total(int lane, float (&sum)[N]) const {
        float v[N][EACH];
        for (int i = 0; i < N; ++i)
            for (int k = 0; k < EACH; ++k) v[i][k] = part[i][lane / 4][lane % 4 * EACH + k];
        for (int some = EACH / 2; some > 0; some /= 2)
            for (int i = 0; i < N; ++i)
                for (int k = 0; k < some; ++k) v[i][k] += v[i][k + some];
        for (int i = 0; i < N; ++i) sum[i] = v[i][0] + __shfl_xor_sync(ALL, v[i][0], 1);
        for (int i = 0; i < N; ++i) sum[i] += __shfl_xor_sync(ALL, sum[i], 2);
    }
};
#ifdef LAB_CPU
// A warp's columns of the block's rows, which stay in memory, with the columns' gain and the rows' factors.
template <int N>
struct Rows {
    const uint2* matrix;
    const float4* gain;
    float factor[3];
    template <class Factor>
    __device__ inline Rows(const bf16* matrix, int unit, int warp, int, const float4* gain, const Factor& of)
        : matrix(reinterpret_cast<const uint2*>(matrix) + (unit * H + warp * SPAN) / 4), gain(gain ? gain + warp * PART : gain),
          factor{of(0), of(1), of(2)} {}
    __device__ inline Rows(const bf16* matrix, int unit, int warp, int, uint4*) : Rows(matrix, unit, warp, 0, nullptr, [](int) { return 1.0f; }) {}
};
template <int N>
using Stored = Rows<N>;
template <int N, class After>
__device__ inline void multiply(const Rows<N>& weights, const float4* vector, Sums<N>* sums, int warp, int lane, const After& after) {
    for (int i = lane; i < N * UNITS; i += 32) {
        const uint2* const w = weights.matrix + (i % N * H + i / N) * (H / 4);
        float sum[2] = {};
        for (int k = 0; k < PART; ++k) sum[k % 2] = dot(widen(w[k]), weights.gain ? times(vector[k], weights.gain[k]) : vector[k], sum[k % 2]);
        sums[i / N / 8].part[i % N][i / N % 8][warp] = weights.factor[i % N] * (sum[0] + sum[1]);
    }
    after();
}
#else
// A lane multiplies FOURS times four columns of two units' rows: row i % N of unit i / N ^ lane / 4.
template <int N>
__device__ inline uint2 weight(const bf16* matrix, int unit, int i, int j, int warp, int lane) {
    return reinterpret_cast<const uint2*>(matrix + size_t(i % N * H + unit + (i / N ^ lane / 4)) * H + warp * SPAN)[8 * j + lane % 8];
}
// In registers: f32, times the row's factor and the column's gain. Without lab_pin the compiler would widen them at each use.
template <int N>
struct Rows {
    float4 four[2 * N][FOURS];
    template <class Factor>
    __device__ inline Rows(const bf16* matrix, int unit, int warp, int lane, const float4* gain, const Factor& factor_of) {
        for (int k = 0; k < 2 * N * FOURS; ++k) {
            const int i = k / FOURS, j = k % FOURS;
            float4 w = scaled(widen(weight<N>(matrix, unit, i, j, warp, lane)), factor_of(i % N));
            if (gain) w = times(w, gain[warp * PART + 8 * j + lane % 8]);
            lab_pin(w.x), lab_pin(w.y), lab_pin(w.z), lab_pin(w.w);
            four[i][j] = w;
        }
    }
    __device__ inline float4 at(int i, int j) const { return four[i][j]; }
};
// The same in shared memory, as bf16 and without factor and gain: two weights of each thread are 16 bytes.
template <int N>
struct Stored {
    const uint4* words;
    __device__ inline Stored(const bf16* matrix, int unit, int warp, int lane, uint4* memory) : words(memory + threadIdx.x) {
#pragma unroll 8
        for (int k = 0; k < 2 * N * FOURS; ++k)
            reinterpret_cast<uint2*>(memory + threadIdx.x + k / 2 * THREADS)[k % 2] = weight<N>(matrix, unit, k / FOURS, k % FOURS, warp, lane);
    }
    __device__ inline float4 at(int i, int j) const { return widen(words[(i * FOURS + j) / 2 * THREADS], (i * FOURS + j) % 2); }
};
// Writes this warp's parts of the sums of 8·N rows. `vector` is the warp's part of the vector. Calls `after` after half of the
// products. Lanes 8·g … 8·g + 7 share the rows of units 2·g and 2·g + 1. A lane multiplies its columns of both units' rows,
// gives one unit's sums to another lane, and gets that lane's of the other unit.
template <int N, template <int> class Weights, class After>
__device__ inline void multiply(const Weights<N>& weights, const float4* vector, Sums<N>* sums, int warp, int lane, const After& after) {
    float4 x[FOURS];
    for (int j = 0; j < FOURS; ++j) x[j] = vector[8 * j + lane % 8];
    float sum[2 * N] = {};
    for (int k = 0; k < 2 * N * FOURS; ++k) {
        if (k == N * FOURS) after();
        sum[k % (2 * N)] = dot(weights.at(k % (2 * N), k / (2 * N)), x[k / (2 * N)], sum[k % (2 * N)]);
    }
    for (int i = 0; i < N; ++i) sums->part[i][lane / 4][4 * warp + lane % 4] = sum[i] + __shfl_xor_sync(ALL, sum[i + N], 4);
}
#endif
// Waits until a lane's values have the mark; lab_peek_marked has looked once. The lanes of a warp stay together: a warp
// whose lanes leave such a loop one by one is slower afterwards.
template <int N>
__device__ inline void wait_marked(const float* words, int apart, unsigned mark, float4 (&values)[N]) {
    const auto differs = [&](float value) { return __float_as_uint(value) ^ mark; };
    for (;; lab_peek_marked(words, apart, values)) {
        unsigned wrong = 0;
        for (const float4& v : values) wrong |= differs(v.x) | differs(v.y) | differs(v.z) | differs(v.w);
        float pinned = __uint_as_float(wrong);
        lab_pin(pinned);  // one test of all words is shorter than a test of each
        if (!__any_sync(ALL, __float_as_uint(pinned) & 1u)) return;
    }
}

// ---- Gates -----------------------------------------------------------------------------------------
// The hardware's 2^x and 1/x have an error of at most 3e-7. The last function polls two words at once.
#ifdef LAB_CPU
__device__ inline float power_of_2(float x) { return exp2f(x); }
__device__ inline float inverse(float x) { return 1.0f / x; }
__device__ inline ulonglong2 poll_two(const u64* words) { return make_ulonglong2(lab_poll(words), lab_poll(words + 1)); }
#else
__device__ inline float power_of_2(float x) { asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x)); return x; }
__device__ inline float inverse(float x) { asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(x)); return x; }
__device__ inline ulonglong2 poll_two(const u64* words) {
    ulonglong2 seen;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(seen.x), "=l"(seen.y) : "l"(words));
    return seen;
}
#endif
// The sums of gates are multiplied by this, so that powers of two give e^-r, e^-z and e^-2n.
__device__ inline float gate_factor(int gate) { return gate < 2 ? -LOG2_E : -2.0f * LOG2_E; }
__device__ inline float glu_factor(int row) { return row == 0 ? SHARE_UNIT : -LOG2_E; }
// Layer 0's gates r and z are products of an input's and a state's power. So each power is computed once for many cells.
__device__ inline float gate_part(int gate, float x) {
    return gate < 2 ? power_of_2(x * gate_factor(gate)) : x * gate_factor(gate);
}
// Returns a unit's new state from e^-r, e^-z, the parts of n, and the state, as PyTorch's GRUCell does. With e = e^-2n,
// tanh(n) is 2 / (1 + e) - 1. One division serves this and the sigmoid of z.
__device__ inline float gru_cell(float r, float z, float n_input, float n_state, float h) {
    const float e = 1.0f + power_of_2(fmaf(inverse(1.0f + r), n_state, n_input));
    z += 1.0f;
    const float both = inverse(z * e), c = fmaf(2.0f * both, z, -1.0f);
    return fmaf(both * e, h - c, c);
}

// ---- Logits in fixed point -------------------------------------------------------------------------
// A word holds the sums of two logits and counts the additions: the first logit in its upper 28 bits, the second in the
// next 28, the count in the low 8. The unit is 2^-21. Integers give the same sum in any order, so all blocks pick the same
// token. A word is never reset: the reader takes the difference to what it saw before. A logit and its noise, at most 24,
// must stay below 64. Bits 32 … 63 and 4 … 35 of a word are its parts: a logit each, in units of 2^-25.
constexpr int GROUP = 8;                 // groups of eight words lie every 2,176 bytes: additions to different
using Logits = u64[V / 2 / GROUP][272];  // cache lines run in parallel
// The tokens of a lane: 4·lane … + 3 and V / 2 + 4·lane … + 3. So four lanes share each cache line that they poll.
__device__ inline int token_of(int lane, int i) { return i / 4 * (V / 2) + 4 * lane + i % 4; }
// Waits until all blocks have added to the words of a lane's tokens, and gives the words' parts.
__device__ inline void wait_parts(Logits& logits, unsigned additions, int lane, int (&part)[8]) {
    ulonglong2 a, b;
    unsigned wrong;
    do {
        a = poll_two(&logits[2 * lane / GROUP][2 * lane % GROUP]), b = poll_two(&logits[(V / 4 + 2 * lane) / GROUP][2 * lane % GROUP]);
        wrong = (unsigned(a.x) ^ additions) | (unsigned(a.y) ^ additions) | (unsigned(b.x) ^ additions) | (unsigned(b.y) ^ additions);
    } while (__any_sync(ALL, wrong & 255u));
    const u64 word[4] = {a.x, a.y, b.x, b.y};
    for (int i = 0; i < 4; ++i) part[2 * i] = int(word[i] >> 32), part[2 * i + 1] = int(word[i] >> 4);
}
__device__ inline int largest_of(const int (&v)[8]) {
    return max(max(max(v[0], v[1]), max(v[2], v[3])), max(max(v[4], v[5]), max(v[6], v[7])));
}
// Returns the token that min-p and Gumbel-max pick, in every lane. Logits, noise and the logarithm of min-p are multiplied
// by the temperature, which changes no comparison. The low 8 bits of a score, worth 8e-6, hold the token.
__device__ inline int sample(const int (&logits)[8], const float4 (&noise)[2], int log_min_p, int lane) {
    const int threshold = __reduce_max_sync(ALL, largest_of(logits)) + log_min_p;
    int score[8];
    for (int i = 0; i < 8; ++i) {
        const int scored = logits[i] + __float_as_int(reinterpret_cast<const float*>(noise)[i]);
        score[i] = logits[i] >= threshold ? (scored & ~255) | token_of(lane, i) : -0x7fffffff - 1;
    }
    return __reduce_max_sync(ALL, largest_of(score)) & 255;
}
// Returns softmax(logits / temperature)[token], in every lane. `unit` is that of a logit after the division.
__device__ inline float probability(const int (&logits)[8], int token, float unit, int lane) {
    const int largest = __reduce_max_sync(ALL, largest_of(logits));
    float sum = 0.0f, chosen = 0.0f;
    for (int i = 0; i < 8; ++i) {
        const float e = expf(float(logits[i] - largest) * unit);
        sum += e, chosen = token_of(lane, i) == token ? e : chosen;
    }
    return lab_warp_sum(chosen) / lab_warp_sum(sum);
}

// ---- The kernel ----------------------------------------------------------------------------------
// Layer 0's input parts of the block's units for each token: four units of a gate in a float4.
using Table = float4[3][V * QUADS];

// Scratch memory, zeros before the launch. A word of one exchange may be written again after the next exchange: a block
// that has the logits of a step knows that every block has read that step's h1, because each block's share of the logits
// is computed from h1. A block that has the h1 of a step knows that every block has read its state of layer 0.
struct Work {
    Table table[AHEAD ? 1 : BLOCKS];  // on the cpu device
    float states[AHEAD ? V : 1][H];   // marked: layer 0's next state for each token
    float h1[COPIES][H];              // marked
    float noise[4 * BLOCKS][V];       // marked: of the steps around this one, times temperature and LOGIT_UNIT
    Logits logits;
};
// A word's mark changes with every value, and the first one is 1. Turn t of the loop waits for mark t + 1. The noise has its own.
__device__ inline unsigned noise_mark(int step) { return step / (4 * BLOCKS) + 1; }
struct Shared {
    Sums<3> ih1[WARPS], hh1[GROUPS], hh0[GROUPS];
    Sums<2> glu[GROUPS];
    float4 h0[QUADS];                         // the block's units: the present state of layer 0
    float4 parts[WARPS][3][QUADS];            // and its parts of the gates, computed by each warp for itself
    float4 bias1[UNITS];                      // of layer 1: gates r and z, and the two of n, inside and outside the product with r
    float bias_hh0[3][UNITS];
    float2 bias_glu[UNITS], bias_out[V / 2];  // with the factors of their sums; bias_out is 0 in all blocks but one
    int log_min_p;
    float4 squares[WARPS][2];                 // sums of each warp, of up to eight vectors
    float4 noise[2][32];                      // of the step that is picked next
    int4 before[2][32];                       // the parts of the logits' words after the step before
    int token;
    float4 vector[WARPS][PART];               // each warp's part of the vector that it multiplies: h0, then h1, then y
};

// If `forced` is null, the launch samples and writes `tokens`. Otherwise it is teacher-forced: the input of step t is
// forced[t - 1], and teacher_prob[t] gets the probability of forced[t]. `h0` and `h1` hold the start, then the final states.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    wavegru(const bf16* __restrict__ embed, const float* __restrict__ rms_gain0, const float* __restrict__ rms_gain1,
            const bf16* __restrict__ w_ih0, const bf16* __restrict__ w_hh0, const bf16* __restrict__ w_ih1, const bf16* __restrict__ w_hh1,
            const float* __restrict__ b_ih0, const float* __restrict__ b_hh0, const float* __restrict__ b_ih1, const float* __restrict__ b_hh1,
            const bf16* __restrict__ w_glu, const float* __restrict__ b_glu, const bf16* __restrict__ w_out, const float* __restrict__ b_out,
            float* h0, float* h1, const int* __restrict__ forced, int* tokens, float* teacher_prob, Work* work, LabRun run) {
    extern __shared__ __align__(16) uint4 chip[];
    __shared__ Shared shared;
    const int thread = threadIdx.x, lane = thread % 32;
    const int warp = __shfl_sync(ALL, thread / 32, 0);  // tells the compiler that the lanes of a warp take the same branches
    const int first_unit = blockIdx.x * UNITS;          // of the block
    const int unit = lane / 4, gate = min(lane % 4, 2);  // of eight units and three gates: what this lane finishes
    const int four = warp * PART + lane % PART;          // this lane's elements of every vector: the four of this number
    const auto embedding = [&](int token) { return reinterpret_cast<const uint2*>(embed + token * H)[four]; };
    const auto squares_of = [&](float4 x) { return lane < PART ? dot(x, x) : 0.0f; };  // what this lane adds to the sum of squares
    const auto scale_of = [&](float4 a, float4 b) {  // of the RMS norm
        return rsqrtf(fmaf(((a.x + b.x) + (a.y + b.y)) + ((a.z + b.z) + (a.w + b.w)), 1.0f / H, EPSILON));
    };
    const auto gate_of = [&](const float (&sum)[3]) { return gate == 0 ? sum[0] : gate == 1 ? sum[1] : sum[2]; };
    const auto state_of = [&](int unit, int token) { return &work->states[AHEAD ? token : 0][unit]; };
    const auto spread = [&](float4 value) {  // writes this lane's four of a vector, for the other lanes of the warp
        __syncwarp();
        if (lane < PART) shared.vector[warp][lane] = value;
        __syncwarp();
    };

    // Computes entries of the table. After as many tokens as there are warps for, each warp finishes eight units of a token.
    Table& table = *(AHEAD ? reinterpret_cast<Table*>(chip) : &work->table[blockIdx.x]);
    const auto fill_table = [&](int begin, int end) {
        const Rows<3> ih0(w_ih0, first_unit, warp, lane, reinterpret_cast<const float4*>(rms_gain0), [](int) { return 1.0f; });
        constexpr int BATCH = WARPS / GROUPS;
        const int row = warp % GROUPS * 8 + unit;
        const float bias = b_ih0[gate * H + first_unit + row];
        uint2 next = embedding(begin), after = embedding(min(begin + 1, V - 1));
#pragma unroll 1
        for (int token = begin; token < end; ++token) {
            const int slot = (token - begin) % BATCH;
            const float4 x = widen(next);
            next = after, after = embedding(min(token + 2, V - 1));
            const float squares = lab_warp_sum(squares_of(x));
            spread(x);
            multiply(ih0, shared.vector[warp], &shared.ih1[slot * GROUPS], warp, lane, [] {});
            if (lane == 0) reinterpret_cast<float*>(shared.squares[slot])[warp] = squares;
            if (slot < BATCH - 1 && token < end - 1) continue;
            __syncthreads();
            float sum[3];
            shared.ih1[warp].total(lane, sum);
            if (warp / GROUPS <= slot)
                reinterpret_cast<float*>(table[gate])[(token - slot + warp / GROUPS) * UNITS + row] =
                    gate_part(gate, fmaf(scale_of(shared.squares[warp / GROUPS][0], shared.squares[warp / GROUPS][1]), gate_of(sum), bias));
            __syncthreads();
        }
    };
    if (AHEAD) fill_table(0, V);

    // Kept for all steps
    uint4* const out = chip + (AHEAD ? sizeof(Table) / sizeof(uint4) : 0);  // the block's columns of w_out: even tokens, then odd
    for (int group = 0; group < GROUPS; ++group)
        out[group * V + thread % 2 * V / 2 + thread / 2] = reinterpret_cast<const uint4*>(w_out + size_t(thread) * H + first_unit)[group];
    uint4* const stored = out + V;
    const Stored<3> hh0(w_hh0, first_unit, warp, lane, stored);
    const Stored<3> hh1(w_hh1, first_unit, warp, lane, stored + 3 * FOURS * THREADS);
    const Rows<3> ih1(w_ih1, first_unit, warp, lane, reinterpret_cast<const float4*>(rms_gain1), gate_factor);
    const Rows<2> glu(w_glu, first_unit, warp, lane, nullptr, glu_factor);
    float h1_own = warp < GROUPS ? h1[first_unit + 8 * warp + unit] : 0.0f;
    if (thread < UNITS) {
        const float *input = b_ih1 + first_unit + thread, *state = b_hh1 + first_unit + thread;
        shared.bias1[thread] = make_float4(input[0] + state[0], input[H] + state[H], state[2 * H], gate_factor(2) * input[2 * H]);
        for (int i = 0; i < 3; ++i) shared.bias_hh0[i][thread] = b_hh0[i * H + first_unit + thread];
        shared.bias_glu[thread] = make_float2(glu_factor(0) * b_glu[first_unit + thread], glu_factor(1) * b_glu[H + first_unit + thread]);
    }
    if (thread < V / 2)
        shared.bias_out[thread] = blockIdx.x == 0 ? make_float2(b_out[2 * thread] * SHARE_UNIT, b_out[2 * thread + 1] * SHARE_UNIT) : float2{};
    const float unit_of_logit = run.temperature * LOGIT_UNIT;
    if (thread == 0) shared.log_min_p = __float2int_rn(logf(run.min_p) * unit_of_logit);
    float4 h0_mine = reinterpret_cast<const float4*>(h0)[four];
    spread(h0_mine);
    const auto publish_h1 = [&](unsigned mark) {
        if (lane % 4 < COPIES) lab_store_marked(&work->h1[lane % 4][first_unit + 8 * warp + unit], h1_own, mark);
    };
    if (warp < GROUPS) publish_h1(1);
    if (thread < 64) shared.before[thread / 32][lane] = int4{};
    // Computes layer 0's parts of the gates. Each warp does so for itself: that is shorter than waiting for a warp that does it.
    float4 (&parts)[3][QUADS] = shared.parts[warp];
    const auto finish_parts = [&] {
        for (int group = 0; group < GROUPS; ++group) {
            float sum[3];
            shared.hh0[group].total(lane, sum);
            reinterpret_cast<float*>(parts[gate])[8 * group + unit] = gate_part(gate, gate_of(sum) + shared.bias_hh0[gate][8 * group + unit]);
        }
        __syncwarp();
    };
    // Computes and publishes layer 0's next states of four units, for the inputs begin / QUADS … of the table.
    const auto next_states = [&](int t, int begin, int end) {
        const int quad = begin % QUADS;
        const float4 hr = parts[0][quad], hz = parts[1][quad], hn = parts[2][quad], h = shared.h0[quad];
#pragma unroll 1
        for (int i = begin; i < end; i += V / 2) {
            const float4 r = times(table[0][i], hr), z = times(table[1][i], hz), n = table[2][i];
            const float4 next = make_float4(gru_cell(r.x, z.x, n.x, hn.x, h.x), gru_cell(r.y, z.y, n.y, hn.y, h.y),
                                            gru_cell(r.z, z.z, n.z, hn.z, h.z), gru_cell(r.w, z.w, n.w, hn.w, h.w));
            lab_store_marked(state_of(first_unit + 4 * quad, i / QUADS), next, t + 1);
        }
    };

    // One turn of the loop ends step t - 1, whose h1 is on its way, and begins step t: so the start states need no code of their own.
    int token = run.first_token;
    const auto record = [&](int step) { if (blockIdx.x == 0 && thread == THREADS - 1 && !forced) tokens[step] = token; };
#pragma unroll 1
    for (int t = 0;; ++t) {
        // While h1 is on its way: layer 0's products with its state. The first look at h1 comes in the middle, so that the
        // values arrive during the other half. A look that fails costs a whole round trip.
        const unsigned quad = four - first_unit / 4;  // of the block's own units
        if (quad < QUADS) shared.h0[quad] = h0_mine;
        const float* const words = &work->h1[blockIdx.x % COPIES][4 * four];
        float4 h1_mine[1];
        multiply(hh0, shared.vector[warp], shared.hh0, warp, lane, [&] {
            __syncwarp();  // without it, the compiler would move the look before all products
            lab_peek_marked(words, 0, h1_mine);
        });
        if (t % BLOCKS == 0)  // the noise: each block computes that of one step, for all blocks
            for (int step = blockIdx.x + (t > 0 ? t + BLOCKS : 0); step < min(run.steps, t + 2 * BLOCKS); step += BLOCKS) {
                const float noise = lab_gumbel(run.seed_low, run.seed_high, step, thread);
                lab_store_marked(&work->noise[step % (4 * BLOCKS)][thread], __int_as_float(__float2int_rn(noise * unit_of_logit)), noise_mark(step));
            }

        // GLU
        wait_marked(words, 0, t + 1, h1_mine);
        spread(h1_mine[0]);
        multiply(glu, shared.vector[warp], shared.glu, warp, lane, [] {});
        __syncthreads();

        // Half of the warps compute this block's share of the logits, and the others layer 0's next states.
        if (AHEAD && warp >= WARPS / 2) {
            finish_parts();
            next_states(t, thread - V / 2, V * QUADS);
        } else if (t > 0 && warp < WARPS / 2) {
            float share[2] = {shared.bias_out[thread].x, shared.bias_out[thread].y};
            for (int group = 0; group < GROUPS; ++group) {
                float u[2];
                const float2 of_unit = shared.bias_glu[8 * group + unit];
                shared.glu[group].total(lane, u);
                const float g = (u[0] + of_unit.x) * inverse(1.0f + power_of_2(u[1] + of_unit.y));
                for (int i = 0; i < 2; ++i) {
                    const float4 x = make_float4(__shfl_sync(ALL, g, 16 * i), __shfl_sync(ALL, g, 16 * i + 4),
                                                 __shfl_sync(ALL, g, 16 * i + 8), __shfl_sync(ALL, g, 16 * i + 12));
                    for (int j = 0; j < 2; ++j) share[j] = dot(widen(out[group * V + j * V / 2 + thread], i), x, share[j]);
                }
            }
            const long long first = __float2int_rn(share[0]), second = __float2int_rn(share[1]);
            atomicAdd(&work->logits[thread / GROUP][thread % GROUP], (u64(first) << 36) + (u64(second) << 8) + 1);
        }
        multiply(hh1, shared.vector[warp], shared.hh1, warp, lane, [] {});  // while the logits are on their way

        // One warp picks the token, or takes the next forced one. It has fetched everything but the logits before.
        if (t > 0 && warp == PICKING) {
            const int4 before[2] = {shared.before[0][lane], shared.before[1][lane]};
            const int log_min_p = shared.log_min_p;
            const float4 noise[2] = {shared.noise[0][lane], shared.noise[1][lane]};
            int part[8], logits[8];
            wait_parts(work->logits, BLOCKS * t, lane, part);
            for (int i = 0; i < 8; ++i) logits[i] = part[i] - reinterpret_cast<const int*>(before)[i];
            shared.before[0][lane] = make_int4(part[0], part[1], part[2], part[3]);
            shared.before[1][lane] = make_int4(part[4], part[5], part[6], part[7]);
            if (token < 0) token = sample(logits, noise, log_min_p, lane);
            if (lane == 0) shared.token = token;
            if (forced && blockIdx.x == 0) {
                const float p = probability(logits, token, 1.0f / unit_of_logit, lane);
                if (lane == 0) teacher_prob[t - 1] = p;
            }
        }
        __syncthreads();
        if (t > 0) token = shared.token;

        // L0: the state that belongs to the token
        if (!AHEAD) {
            if (t > 0) record(t - 1);
            fill_table(token, token + 1);
            if (warp == 0) finish_parts();
            if (thread < QUADS) next_states(t, token * QUADS + thread, token * QUADS + thread + 1);
        }
        float4 state[1];
        const float* const states = state_of(4 * four, token);
        lab_peek_marked(states, 0, state);
        const uint2 x = embedding(token);
        if (t == run.steps) break;
        wait_marked(states, 0, t + 1, state);

        // L1: norm and GRU cell. The input is scaled after the multiplication. Meanwhile the picking warp fetches the noise.
        h0_mine = state[0];
        float4 noise[2];
        const float* const noises = &work->noise[t % (4 * BLOCKS)][4 * lane];
        const float4 e = widen(x), y = make_float4(e.x + h0_mine.x, e.y + h0_mine.y, e.z + h0_mine.z, e.w + h0_mine.w);
        spread(y);
        if (warp == PICKING) lab_peek_marked(noises, V / 2, noise);
        const unsigned squares = __reduce_add_sync(ALL, __float2uint_rn(SQUARES_UNIT * squares_of(y)));
        multiply(ih1, shared.vector[warp], shared.ih1, warp, lane, [] {});
        if (lane == 0) reinterpret_cast<float*>(shared.squares[0])[warp] = float(squares) * (1.0f / SQUARES_UNIT);
        __syncthreads();
        if (warp < GROUPS) {
            float input[3], own[3];
            shared.ih1[warp].total(lane, input);
            shared.hh1[warp % GROUPS].total(lane, own);
            const float4 bias = shared.bias1[8 * (warp % GROUPS) + unit];
            for (int i = 0; i < 3; ++i) own[i] = gate_factor(i) * (own[i] + (i == 0 ? bias.x : i == 1 ? bias.y : bias.z));
            const float scale = scale_of(shared.squares[0][0], shared.squares[0][1]);
            h1_own = gru_cell(power_of_2(fmaf(scale, input[0], own[0])), power_of_2(fmaf(scale, input[1], own[1])),
                              fmaf(scale, input[2], bias.w), own[2], h1_own);
            publish_h1(t + 2);
        } else {
            spread(h0_mine);
            if (t > 0) record(t - 1);
        }
        if (warp == PICKING) {
            wait_marked(noises, V / 2, noise_mark(t), noise);
            shared.noise[0][lane] = noise[0], shared.noise[1][lane] = noise[1];
            token = forced ? forced[t] : -1;
        }
        __syncthreads();  // the products with w_hh0 would delay the warp that finishes h1: both use shared memory a lot
        if (warp < GROUPS) spread(h0_mine);
    }
    record(run.steps - 1);
    if (thread < UNITS) h0[first_unit + thread] = reinterpret_cast<const float*>(shared.h0)[thread];
    if (warp < GROUPS && lane % 4 == 0) h1[first_unit + 8 * warp + unit] = h1_own;
}

LAB_LAUNCH(wavegru) {
    launch.grid[0] = BLOCKS, launch.block[0] = THREADS;
    launch.shared_bytes = GROUPS * V * 16 + (AHEAD ? sizeof(Table) + 2 * 3 * FOURS * THREADS * 16 : 0);
    launch.cooperative = 1;  // all blocks must be resident at once, because they wait for one another
}
