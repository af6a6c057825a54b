// Attention of one new token of each sequence over a paged KV cache, in one launch (flash decoding).
// The pages of all sequences form one list. A block takes one KV head and one of 16 equal shares of the list, so that all blocks read
// equally much, whatever the lengths are. Its 8 warps take the pages in turn. At the end of a sequence or of the share, they put their
// results together. Blocks with parts of the same sequence exchange them.
// The copy engine (TMA) brings a head's part of a page into shared memory: 16 rows of K and of V, 256 bytes each. Each warp has a ring of
// pages and asks for a new page as soon as it has used one, so within a sequence it waits for no other warp. Both products run on the
// tensor cores, scores = K Q^T (16 tokens x 8 heads) and sums = V^T weights (128 numbers x 8 heads): all 8 columns of an instruction count.
#include "lab.h"
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;
constexpr int HEADS = 64, KV_HEADS = 8, GROUP = HEADS / KV_HEADS, WIDTH = 128, PAGE = 16, TILE = PAGE * WIDTH;
constexpr int WARP = 32, WARPS = 8, PLACES = 3;         // warps of a block, pages of a warp's ring
constexpr int SHARES = 16, LEAST_PAGES = 4;             // most shares of the list, fewest pages of a share
constexpr unsigned ALL = 0xffffffffu;
constexpr float LOWEST = -3e38f;                        // exp2f of what is that much lower is 0
// A query head's results: the weighted sum of V, the largest score (times log2 e) and the sum of the weights.
struct Row { float4 sum[WARP], scores; };
struct Memory {
    bf16 ring[WARPS][PLACES][2][TILE];                  // K and V
    Row of_warp[WARPS][GROUP];
    unsigned long long arrived[WARPS][PLACES];          // barriers: the page is in its place
};
// What the blocks exchange, as marked values (lab.h): a reader sees in each value whether it has been written, so there is no fence and no
// counter. A loaded module's memory is zeros, without a mark, and the reader writes zeros again. A share has parts of two sequences at most:
// of its first one (0), and of another one that goes on behind the share (1).
__device__ Row exchange[SHARES][2][HEADS];

__device__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
// The low halves of two words (0), or the high ones (1).
__device__ unsigned halves(unsigned x, unsigned y, int high) { return __byte_perm(x, y, high ? 0x7632 : 0x5410); }
__device__ unsigned word(__nv_bfloat162 two) { return *(const unsigned*)&two; }
__device__ unsigned packed(float x, float y) { return word(__floats2bfloat162_rn(x, y)); }
__device__ unsigned both(float x, float y) { return __float_as_uint(x) & __float_as_uint(y); }  // the bits that both have
__device__ void add(float4& s, float f, float4 x) { s = {s.x + f * x.x, s.y + f * x.y, s.z + f * x.z, s.w + f * x.w}; }
__device__ void store(bf16* y, float4 s, float f) { *(uint2*)y = {packed(s.x * f, s.y * f), packed(s.z * f, s.w * f)}; }
// d += a b, where a has 16 rows of 16 numbers and b 16 rows of 8. With g = lane / 4 and t = lane % 4, the lane has of a the columns
// 2t, 2t + 1 of row g (a[0]) and of row g + 8 (a[1]), and the columns 2t + 8, 2t + 9 of both (a[2], a[3]); of b the rows 2t, 2t + 1
// (b[0]) and 2t + 8, 2t + 9 (b[1]) of column g; of d the columns 2t, 2t + 1 of row g (d[0], d[1]) and of row g + 8 (d[2], d[3]).
__device__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#ifdef LAB_CPU
#define GPU(...)  // the cpu device leaves out what stands in GPU(...)
    for (int n = 0; n < 32; n++) {
        const int i = n / 8, k = n % 8, g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
        const unsigned x = __shfl_sync(ALL, a[i / 2 + k / 4 * 2], 4 * g + k % 4), y = __shfl_sync(ALL, b[k / 4], (2 * t + i % 2) * 4 + k % 4);
        d[i] += __uint_as_float(x << 16) * __uint_as_float(y << 16) + __uint_as_float(x & ~0xffffu) * __uint_as_float(y & ~0xffffu);
    }
#else
#define GPU(...) __VA_ARGS__
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}
// Of a matrix of 8 x 8, the lane gives the columns 2t, 2t + 1 of row g, and gets the rows 2t, 2t + 1 of column g.
__device__ unsigned transposed(unsigned own) {
    const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
    const unsigned x = __shfl_sync(ALL, own, 8 * t + g / 2), y = __shfl_sync(ALL, own, 8 * t + 4 + g / 2);
    return g % 2 ? halves(x, y, 1) : halves(x, y, 0);
}
// Where 8 numbers of a token are in a tile. The copy engine writes the first halves of the 16 rows, then the others, and puts chunk i of a
// half in place i ^ token % 8. So the chunks that a warp loads at once are in different banks.
__device__ uint4& chunk(bf16 (&tile)[TILE], int token, int i) {
    return (uint4&)tile[i / 8 * (TILE / 2) + token * (WIDTH / 2) + (i ^ token) % 8 * 8];
}
// Where 4 numbers of a head's sum are in a warp's results, for the same reason.
__device__ int four_at(int head, int four) { return four ^ (head / 2 % 2 + head / 4 * 4); }
// What a warp knows of its pages. The lane has the heads 2t and 2t + 1: of each the largest score of all its tokens, and the sum of the
// weights of its own tokens, g and g + 8 of each page. sum[4 * half + j] has the numbers 64 half + 8g + 2j and the one behind it.
struct Running {
    float largest[2] = {LOWEST, LOWEST}, weights[2] = {}, sum[8][4] = {};
    // Adds a page of which `left` tokens count. Which number of a product is which does not matter, if it is the same one on both sides: the
    // lane's chunks 2t and 2t + 1 of each half row of K and q serve two instructions each.
    __device__ void add_page(bf16 (&kv)[2][TILE], const uint4 (&query)[4], float scale, int left) {
        const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
        float score[4] = {}, second[4] = {}, shrink[2];
        for (int i = 0; i < 4; i++) {
            uint4 x = chunk(kv[0], g, i / 2 * 8 + 2 * t + i % 2), y = chunk(kv[0], g + 8, i / 2 * 8 + 2 * t + i % 2);
            multiply(score, {x.x, y.x, x.y, y.y}, {query[i].x, query[i].y});
            multiply(second, {x.z, y.z, x.w, y.w}, {query[i].z, query[i].w});
        }
        for (int i = 0; i < 4; i++) score[i] = g + i / 2 * 8 < left ? (score[i] + second[i]) * scale : LOWEST;
        for (int h = 0; h < 2; h++) {
            float most = fmaxf(score[h], score[h + 2]);
            for (int bits = 4; bits < WARP; bits *= 2) most = fmaxf(most, __shfl_xor_sync(ALL, most, bits));
            most = fmaxf(most, largest[h]);
            shrink[h] = exp2f(largest[h] - most), largest[h] = most;
            score[h] = exp2f(score[h] - most), score[h + 2] = exp2f(score[h + 2] - most);
            weights[h] = weights[h] * shrink[h] + score[h] + score[h + 2];
        }
        for (int i = 0; i < 32; i++) sum[i / 4][i % 4] *= shrink[i % 2];
        const unsigned right[2] = {transposed(packed(score[0], score[1])), transposed(packed(score[2], score[3]))};
        for (int half = 0; half < 2; half++) {
            alignas(16) unsigned of[4][4];
            for (int n = 0; n < 4; n++) (uint4&)of[n] = chunk(kv[1], 2 * t + n % 2 + n / 2 * 8, 8 * half + g);
            for (int j = 0; j < 4; j++)
                multiply(sum[4 * half + j], {halves(of[0][j], of[1][j], 0), halves(of[0][j], of[1][j], 1),
                                             halves(of[2][j], of[3][j], 0), halves(of[2][j], of[3][j], 1)}, right);
        }
    }
    __device__ void write(Row (&rows)[GROUP]) {
        const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
        for (int h = 0; h < 2; h++) {
            for (int bits = 4; bits < WARP; bits *= 2) weights[h] += __shfl_xor_sync(ALL, weights[h], bits);
            if (g == 0) rows[2 * t + h].scores = {largest[h], weights[h], 0, 0};
            for (int i = 0; i < 8; i += 2)
                rows[2 * t + h].sum[four_at(2 * t + h, i / 4 * 16 + 2 * g + i / 2 % 2)] =
                    {sum[i][h], sum[i][h + 2], sum[i + 1][h], sum[i + 1][h + 2]};
        }
    }
};
// A warp puts the block's results of one head together. They go to y or, if other shares have the rest, to `part`.
__device__ void merge(const Row (&of_warp)[WARPS][GROUP], bf16* y, Row* part) {
    const int lane = threadIdx.x % WARP, head = threadIdx.x / WARP;
    float largest = LOWEST, weights = 0;
    float4 sum = {};
    for (auto& rows : of_warp) largest = fmaxf(largest, rows[head].scores.x);
    for (auto& rows : of_warp) {
        const float factor = exp2f(rows[head].scores.x - largest);
        weights += factor * rows[head].scores.y, add(sum, factor, rows[head].sum[four_at(head, lane)]);
    }
    if (!part) return store(&y[4 * lane], sum, __fdividef(1, weights));
    lab_store_marked(&part->sum[lane].x, sum, 1);
    if (lane == 0) lab_store_marked(&part->scores.x, float4{largest, weights, 0, 0}, 1);
}
// A warp puts a head's parts of a sequence together. Part i is rows[i * 2 * HEADS], the first one `shift` rows behind.
__device__ void finish(Row* rows, int shift, int parts, bf16* y) {
    const int lane = threadIdx.x % WARP;
    auto part = [&](int i) -> Row& { return rows[i * 2 * HEADS + (i ? 0 : shift)]; };
    float4 x[SHARES][1] = {}, scores[1] = {{LOWEST, 0, 0, 0}}, sum = {};
    unsigned marks;
    do {  // all loads are on the way at once
        marks = 1;
        if (lane < parts) lab_peek_marked(&part(lane).scores.x, 0, scores), marks = both(scores->x, scores->y);
        for (int i = 0; i < SHARES; i++) if (i < parts) lab_peek_marked(&part(i).sum[lane].x, 0, x[i]);
        for (int i = 0; i < SHARES; i++) if (i < parts) marks &= both(x[i]->x, x[i]->y) & both(x[i]->z, x[i]->w);
    } while (!__all_sync(ALL, marks & 1));
    float largest = scores->x;
    for (int bits = 1; bits < WARP; bits *= 2) largest = fmaxf(largest, __shfl_xor_sync(ALL, largest, bits));
    const float factor = exp2f(scores->x - largest), weights = lab_warp_sum(factor * scores->y);
    for (int i = 0; i < SHARES; i++) add(sum, __shfl_sync(ALL, factor, i), *x[i]);
    store(&y[4 * lane], sum, __fdividef(1, weights));
#pragma unroll 1
    for (int i = 0; i < parts; i++) part(i).sum[lane] = {};
    if (lane < parts) part(lane).scores = {};
}
// A sequence; its pages are `first` to `end` - 1 of the list. If `ragged`, it has only the pages that it needs, else as
// many as the longest sequence may need, and nothing waits for the lengths. go_to goes on to the sequence with a page.
struct Span {
    const int* lengths;
    int most, ragged, sequence, first, end;
    __device__ int pages_of(int s) const { return ragged ? (lengths[s] + PAGE - 1) / PAGE : most; }
    __device__ void go_to(int page) { while (page >= end) first = end, end += pages_of(++sequence); }
};

extern "C" __global__ void __launch_bounds__(WARPS* WARP, 1) attention_decode(const bf16* q, const bf16* k,
    const bf16* v, const int* table, const int* lengths, bf16* y, float scale, int batch, int length, int shortest,
    int ragged GPU(, const __grid_constant__ LabTensorMap k_map, const __grid_constant__ LabTensorMap v_map)) {
    extern __shared__ __align__(1024) char memory[]; Memory& own = *(Memory*)memory;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, head = blockIdx.x, share = blockIdx.y, most = (length + PAGE - 1) / PAGE;
    GPU(if (lane < PLACES) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(lane ? &v_map : &k_map) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(
            address(&own.arrived[warp][lane])) : "memory");
    })
    Span first{lengths, most, ragged, 0, 0, most};
    int total = batch * most;
    if (ragged) {
        first.end = first.pages_of(0), total = 0;
#pragma unroll 1
        for (int b = lane; b < batch; b += WARP) total += first.pages_of(b);
        for (int bits = 1; bits < WARP; bits *= 2) total += __shfl_xor_sync(ALL, total, bits);
    }
    const int each = (total + gridDim.y - 1) / gridDim.y, begin = share * each, end = min(begin + each, total);
    if (begin >= end) return;
    if (!ragged) first.sequence = begin / most, first.first = first.sequence * most, first.end = first.first + most;
    first.go_to(begin);
    // Lane i serves place i of the warp's ring. It looks up which page will be the next one there, and later asks for that page.
    Span asked = first;
    int next = begin + warp + lane * WARPS, number = 0;
    auto look_up = [&] {
        if (lane >= PLACES || next >= end) return;
        asked.go_to(next), number = asked.sequence * most + table[asked.sequence * most + next - asked.first];
    };
    auto ask = [&](int place) {
        if (lane != place || lane >= PLACES || next >= end) return;
#ifdef LAB_CPU
        for (int i = 0; i < 2 * TILE / 8; i++)
            chunk(own.ring[warp][place][i % 2], i / 32, i / 2 % 16) =
                *(const uint4*)&(i % 2 ? v : k)[(((long long)number * PAGE + i / 32) * KV_HEADS + head) * WIDTH + i / 2 % 16 * 8];
#else
        const unsigned arrived = address(&own.arrived[warp][place]);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived), "n"(2 * TILE * 2) : "memory");
        for (int n = 0; n < 2; n++)
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %3, %5}], [%2];" ::"r"(
                address(own.ring[warp][place][n])), "l"(n ? &v_map : &k_map), "r"(arrived), "r"(0), "r"(number * PAGE), "r"(head) : "memory");
#endif
        next += WARPS * PLACES, look_up();
    };
    auto load_query = [&](uint4 (&query)[4], int sequence) {
        const bf16* row = &q[((long long)sequence * HEADS + head * GROUP + lane / 4) * WIDTH + 16 * (lane % 4)];
        for (int i = 0; i < 4; i++) query[i] = *(const uint4*)&row[i / 2 * 64 + i % 2 * 8];
    };
    uint4 query[4], next_query[4];
    look_up(), load_query(query, first.sequence), ask(lane);
    __syncwarp();
    Span at = first;
    for (int page = begin + warp, place = 0, phase = 0;;) {
        if (at.end < end) load_query(next_query, at.sequence + 1);
        const int tokens = shortest < length ? lengths[at.sequence] : length, row = head * GROUP + warp;
        Running all;
        for (; page < min(at.end, end); page += WARPS) {
            GPU(asm volatile("{.reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;"
                             "@!done bra again;}" ::"r"(address(&own.arrived[warp][place])), "r"(phase) : "memory"));
            const int left = tokens - (page - at.first) * PAGE;
            if (left > 0) all.add_page(own.ring[warp][place], query, scale * 1.44269504f, left);
            __syncwarp(), ask(place);
            if (++place == PLACES) place = 0, phase ^= 1;
        }
        all.write(own.of_warp[warp]), __syncthreads();
        Row* part = at.first < begin || at.end > end ? &exchange[share][at.first > begin][row] : nullptr;
        merge(own.of_warp, &y[((long long)at.sequence * HEADS + row) * WIDTH], part);
        if (at.end >= end) break;
        at.go_to(at.end);
        for (int i = 0; i < 4; i++) query[i] = next_query[i];
        __syncthreads();
    }
    for (int slot = 0; slot < 2; slot++) {  // the blocks with parts of a sequence take its heads in turn
        const Span of = slot ? at : first;
        if (slot ? of.first <= begin || of.end <= end : of.first >= begin && of.end <= end) continue;
        int from = share, parts = 1;
        while (from * each > of.first) from--;
        while ((from + parts) * each < of.end) parts++;
        for (int i = head * GROUP + share - from + warp * parts; i < (head + 1) * GROUP; i += WARPS * parts)
            finish(&exchange[from][0][i], of.first > from * each ? HEADS : 0, parts, &y[((long long)of.sequence * HEADS + i) * WIDTH]);
    }
}

LAB_LAUNCH(attention_decode) {
    const unsigned pages = dims.batch * ((dims.length + PAGE - 1) / PAGE), shares = min(device.sms / KV_HEADS, (unsigned)SHARES);
    launch.grid[0] = KV_HEADS, launch.block[0] = WARPS * WARP, launch.cooperative = 1;  // blocks wait for one another
    launch.grid[1] = min(shares, (pages + LEAST_PAGES - 1) / LEAST_PAGES), launch.shared_bytes = sizeof(Memory);
    // Where all pages of a share have a place at once, it takes less time to load pages in vain than to look at the lengths first.
    launch.arg(int(dims.shortest < dims.length && pages > launch.grid[1] * WARPS * PLACES));
    GPU(for (int n = 0; n < 2; n++) {  // dimensions: half rows, tokens, halves, heads; a box is a page of a head
        const unsigned extent[4] = {WIDTH / 2, pages * PAGE, 2, KV_HEADS}, box[4] = {WIDTH / 2, PAGE, 2, 1};
        const unsigned stride[4] = {0, 2 * KV_HEADS * WIDTH, WIDTH, 2 * WIDTH};
        LabMapRequest& map = launch.tensor_map(n ? "v" : "k");
        map.rank = 4, map.swizzle = LAB_SWIZZLE_128B;
        for (int i = 0; i < 4; i++) map.extent[i] = extent[i], map.box[i] = box[i], map.stride[i] = stride[i];
    })
}
