// Attention of one new token over a paged KV cache, in two launches (flash decoding). A block takes a stretch of a sequence's pages for
// one KV head and keeps, for each of its 8 query heads, the largest score, the sum of the weights and the weighted sum of V, relative
// to that largest score. The second launch puts the stretches together.
//
// Both products run on the tensor cores, for a page of 16 tokens at a time: scores = K Q^T (16 tokens x 8 heads) and sums = V^T weights
// (128 numbers x 8 heads). The 8 query heads are the 8 columns that an instruction has, so none of its work is in vain. K and V are
// used once, so each warp loads its parts of them straight into registers, 16 bytes at a time. The loads of the next page are on the
// way while a page is computed: its K from when this page's K is used, its V from when this page's V is.
#include "lab.h"

#include <cuda_bf16.h>

#include <cmath>

constexpr int HEADS = 64, KV_HEADS = 8, GROUP = HEADS / KV_HEADS, WIDTH = 128, PAGE = 16;
constexpr int WARP = 32, WARPS = 4, RESIDENT = 3;    // warps of a block, blocks of a multiprocessor
constexpr int QUADS = WIDTH / 32, HALVES = WIDTH / 64;
constexpr int TOKEN = KV_HEADS * WIDTH;              // numbers from one token to the next in a page
constexpr unsigned ALL = 0xffffffffu;

// The results of a stretch: the weighted sum of V, the largest score (times log2 e) and the sum of the weights.
struct Part {
    float sum[WIDTH];
    float largest, weights;
};

// d += a b, where a has 16 rows of 16 numbers and b 16 rows of 8. With g = lane / 4 and t = lane % 4, the lane has of a the columns
// 2t, 2t + 1 of row g (a[0]) and of row g + 8 (a[1]), and the columns 2t + 8, 2t + 9 of both (a[2], a[3]); of b the rows 2t, 2t + 1
// (b[0]) and 2t + 8, 2t + 9 (b[1]) of column g; of d the columns 2t, 2t + 1 of row g (d[0], d[1]) and of row g + 8 (d[2], d[3]).
__device__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#ifdef LAB_CPU
    __shared__ unsigned of_a[WARPS][WARP][4], of_b[WARPS][WARP][2];
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (int i = 0; i < 4; i++) of_a[warp][lane][i] = a[i];
    for (int i = 0; i < 2; i++) of_b[warp][lane][i] = b[i];
    __syncwarp();
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 16; k++) {
            const unsigned x = of_a[warp][lane / 4 * 4 + k % 8 / 2][i / 2 + k / 8 * 2];
            const unsigned y = of_b[warp][(lane % 4 * 2 + i % 2) * 4 + k % 8 / 2][k / 8];
            d[i] += __uint_as_float(k % 2 ? x & 0xffff0000u : x << 16) * __uint_as_float(k % 2 ? y & 0xffff0000u : y << 16);
        }
    __syncwarp();
#else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

__device__ unsigned word(const uint4& pack, int i) { return i == 0 ? pack.x : i == 1 ? pack.y : i == 2 ? pack.z : pack.w; }
// Puts the low, or the high, halves of two words into one.
__device__ unsigned low(unsigned x, unsigned y) { return __byte_perm(x, y, 0x5410); }
__device__ unsigned high(unsigned x, unsigned y) { return __byte_perm(x, y, 0x7632); }
__device__ unsigned narrowed(float x, float y) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(x, y);
    return *reinterpret_cast<const unsigned*>(&both);
}
// Of a matrix of 8 x 8, the lane gives the columns 2t, 2t + 1 of row g, and gets the rows 2t, 2t + 1 of column g.
__device__ unsigned transposed(unsigned own) {
    const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
    const unsigned x = __shfl_sync(ALL, own, 8 * t + g / 2), y = __shfl_sync(ALL, own, 8 * t + 4 + g / 2);
    return g % 2 ? high(x, y) : low(x, y);
}

// What a warp knows of its pages. The lane has the heads 2t and 2t + 1: of each the largest score of all its tokens, and the sum of
// the weights of its own tokens, g and g + 8 of each page. sum[4 * half + j] has the numbers 64 half + 8g + 2j and the one behind it.
struct Running {
    float largest[2] = {-INFINITY, -INFINITY}, weights[2] = {}, sum[4 * HALVES][4] = {};
};

// A page's K: the numbers 32i + 8t to 32i + 8t + 7 of the tokens g and g + 8. Its V: the numbers 64 half + 8g to 64 half + 8g + 7 of the
// tokens 2t, 2t + 1, 2t + 8 and 2t + 9. So each access covers whole sectors. Which number of a product is which does not matter, if it
// is the same one on both sides: the lane's 8 numbers of K serve two instructions.
__device__ void load_keys(uint4 (&keys)[2][QUADS], const __nv_bfloat16* page) {
    const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < QUADS; i++) keys[r][i] = *(const uint4*)&page[(g + 8 * r) * TOKEN + 32 * i + 8 * t];
}
__device__ void load_values(uint4 (&values)[HALVES][4], const __nv_bfloat16* page) {
    const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int half = 0; half < HALVES; half++)
        for (int i = 0; i < 4; i++)
            values[half][i] = *(const uint4*)&page[(2 * t + i % 2 + i / 2 * 8) * TOKEN + 64 * half + 8 * g];
}

__device__ void multiply_keys(float (&score)[4], const uint4 (&keys)[2][QUADS], const uint4 (&query)[QUADS]) {
#pragma unroll
    for (int i = 0; i < 2 * QUADS; i++) {
        const int at = i / 2, from = i % 2 * 2;
        const unsigned a[4] = {word(keys[0][at], from), word(keys[1][at], from), word(keys[0][at], from + 1), word(keys[1][at], from + 1)};
        const unsigned b[2] = {word(query[at], from), word(query[at], from + 1)};
        multiply(score, a, b);
    }
}

// Returns the weights of a page as the right side of the second product. `left` is the number of its tokens that count.
__device__ void weigh(Running& all, float (&score)[4], float scale, int left, unsigned (&weights)[2]) {
    const int g = threadIdx.x % WARP / 4;
    for (int i = 0; i < 4; i++) score[i] = g + i / 2 * 8 < left ? score[i] * scale : -INFINITY;
    float shrink[2];
    for (int h = 0; h < 2; h++) {
        float most = fmaxf(score[h], score[h + 2]);
        for (int bits = 4; bits < WARP; bits *= 2) most = fmaxf(most, __shfl_xor_sync(ALL, most, bits));
        most = fmaxf(most, all.largest[h]);
        shrink[h] = exp2f(all.largest[h] - most);
        all.largest[h] = most;
        score[h] = exp2f(score[h] - most), score[h + 2] = exp2f(score[h + 2] - most);
        all.weights[h] = all.weights[h] * shrink[h] + score[h] + score[h + 2];
    }
    for (auto& sum : all.sum)
        for (int i = 0; i < 4; i++) sum[i] *= shrink[i % 2];
    for (int r = 0; r < 2; r++) weights[r] = transposed(narrowed(score[2 * r], score[2 * r + 1]));
}

__device__ void add_values(Running& all, const uint4 (&values)[HALVES][4], const unsigned (&weights)[2]) {
#pragma unroll
    for (int i = 0; i < 4 * HALVES; i++) {
        const int half = i / 4, j = i % 4;
        unsigned of_token[4];
        for (int n = 0; n < 4; n++) of_token[n] = word(values[half][n], j);
        const unsigned a[4] = {low(of_token[0], of_token[1]), high(of_token[0], of_token[1]), low(of_token[2], of_token[3]),
                               high(of_token[2], of_token[3])};
        multiply(all.sum[i], a, weights);
    }
}

// Puts the results of the block's warps together. Thread n gets the numbers 8n to 8n + 7 of the 8 heads' 1,024.
__device__ void add_warps(Running& all, float (&sums)[8], float& largest, float& weights) {
    __shared__ float of_warp[WARPS][GROUP][WIDTH], most_of[WARPS][GROUP], weights_of[WARPS][GROUP];
    const int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4, warp = threadIdx.x / WARP;
    for (int h = 0; h < 2; h++) {
        float sum = all.weights[h];
        for (int bits = 4; bits < WARP; bits *= 2) sum += __shfl_xor_sync(ALL, sum, bits);
        if (g == 0) most_of[warp][2 * t + h] = all.largest[h], weights_of[warp][2 * t + h] = sum;
    }
#pragma unroll
    for (int i = 0; i < 4 * HALVES; i++)
        for (int n = 0; n < 4; n++) of_warp[warp][2 * t + n % 2][i / 4 * 64 + 8 * g + i % 4 * 2 + n / 2] = all.sum[i][n];
    __syncthreads();
    const int head = threadIdx.x * 8 / WIDTH, d = threadIdx.x * 8 % WIDTH;
    largest = -INFINITY, weights = 0;
    for (int w = 0; w < WARPS; w++) largest = fmaxf(largest, most_of[w][head]);
    for (int i = 0; i < 8; i++) sums[i] = 0;
    for (int w = 0; w < WARPS; w++) {
        const float factor = most_of[w][head] == -INFINITY ? 0 : exp2f(most_of[w][head] - largest);
        weights += factor * weights_of[w][head];
        for (int i = 0; i < 8; i++) sums[i] += factor * of_warp[w][head][d + i];
    }
}

// Keeps the compiler from putting off the loads before it until it is known whether they are needed.
__device__ void first_loads_are_out() {
#ifndef LAB_CPU
    asm volatile("" ::: "memory");
#endif
}

// One block for each stretch of `each` pages, KV head and sequence. Its warps take the pages in turn.
extern "C" __global__ void __launch_bounds__(WARPS* WARP, RESIDENT)
    stretch(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* table, const int* lengths,
            __nv_bfloat16* y, float scale, int batch, int length, int shortest, Part* parts, int each) {
    const int lane = threadIdx.x % WARP, head = blockIdx.y, b = blockIdx.z, pages = (length + PAGE - 1) / PAGE;
    table += (long long)b * pages;
    k += ((long long)b * pages * PAGE * KV_HEADS + head) * WIDTH;
    v += ((long long)b * pages * PAGE * KV_HEADS + head) * WIDTH;
    // No load waits for the length: the table has a page for each place of the longest sequence.
    const int begin = blockIdx.x * each + threadIdx.x / WARP;
    uint4 query[QUADS], keys[2][QUADS], values[HALVES][4];
    long long page = (long long)table[min(begin, pages - 1)] * PAGE * TOKEN;
    for (int i = 0; i < QUADS; i++)
        query[i] = *(const uint4*)&q[((long long)b * HEADS + head * GROUP + lane / 4) * WIDTH + 32 * i + 8 * (lane % 4)];
    load_keys(keys, k + page);
    load_values(values, v + page);
    int number = table[min(begin + WARPS, pages - 1)];
    first_loads_are_out();
    const int tokens = lengths[b], end = min((int)(blockIdx.x + 1) * each, (tokens + PAGE - 1) / PAGE);
    Running all;
    for (int p = begin; p < end; p += WARPS) {
        const bool more = p + WARPS < end;
        float score[4] = {};
        multiply_keys(score, keys, query);
        page = (long long)number * PAGE * TOKEN;
        if (more) load_keys(keys, k + page);
        number = table[min(p + 2 * WARPS, pages - 1)];
        unsigned weights[2];
        weigh(all, score, scale * 1.44269504f, tokens - p * PAGE, weights);
        add_values(all, values, weights);
        if (more) load_values(values, v + page);
    }
    float sums[8], largest, weights;
    add_warps(all, sums, largest, weights);
    Part& part = parts[((long long)b * HEADS + head * GROUP + threadIdx.x * 8 / WIDTH) * gridDim.x + blockIdx.x];
    for (int i = 0; i < 8; i++) part.sum[threadIdx.x * 8 % WIDTH + i] = sums[i];
    if (threadIdx.x * 8 % WIDTH == 0) part.largest = largest, part.weights = weights;
}

// One block for each query head and sequence, one thread for each number of its result. A stretch behind the end of a sequence has
// weights of 0.
extern "C" __global__ void __launch_bounds__(WIDTH)
    together(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* table, const int* lengths,
             __nv_bfloat16* y, float scale, int batch, int length, int shortest, const Part* parts, int stretches) {
    const long long row = (long long)blockIdx.y * HEADS + blockIdx.x;
    parts += row * stretches;
    float largest = -INFINITY, weights = 0, sum = 0;
    for (int s = 0; s < stretches; s++) largest = fmaxf(largest, parts[s].largest);
    for (int s = 0; s < stretches; s++) {
        const float factor = exp2f(parts[s].largest - largest);
        weights += factor * parts[s].weights;
        sum += factor * parts[s].sum[threadIdx.x];
    }
    y[row * WIDTH + threadIdx.x] = __float2bfloat16(sum / weights);
}

// Returns the stretches of a sequence that take the least time, counted in rounds: in a round, each warp of a block computes a page. A
// block that begins after all others doubles the time of a launch, so what counts is how often the card is full of blocks. A stretch
// costs a round for its start, and a part of one for `together`. Drawn lengths fill the card evenly but for the stretches that are last.
__device__ int best_stretches(int rows, int pages, int at_once, bool drawn) {
    int best = 1;
    float least = INFINITY;
    for (int stretches = 1; stretches <= pages && stretches <= at_once; stretches++) {
        const int each = (pages + stretches - 1) / stretches, rounds = (each + WARPS - 1) / WARPS;
        const float full = (float)rows * stretches / at_once, times = drawn ? full / 2 + 1 : ceilf(full);
        const float time = times * (rounds + 1) + 0.1f * stretches;
        if (time < least) least = time, best = stretches;
    }
    return best;
}

LAB_LAUNCHES(attention_decode) {
    const int rows = KV_HEADS * dims.batch, pages = (dims.length + PAGE - 1) / PAGE;
    const int wanted = best_stretches(rows, pages, RESIDENT * device.sms, dims.shortest < dims.length);
    const int each = (pages + wanted - 1) / wanted, stretches = (pages + each - 1) / each;
    launches.scratch_bytes = sizeof(Part) * HEADS * dims.batch * stretches;
    LabShape& first = launches.add("stretch").arg(each);
    first.grid[0] = stretches;
    first.grid[1] = KV_HEADS;
    first.grid[2] = dims.batch;
    first.block[0] = WARPS * WARP;
    LabShape& second = launches.add("together").arg(stretches);
    second.grid[0] = HEADS;
    second.grid[1] = dims.batch;
    second.block[0] = WIDTH;
}
