// Kernels of the lab itself: digests of device memory and the noise of guard zones, as api/digest.rs defines them, and kernels
// that fill device memory and shared memory.
// digest.ptx is made from this file: NVRTC 12.9 with --gpu-architecture=compute_70 --std=c++17, and then `.version` is
// lowered to 6.4, so that every driver since CUDA 10.1 takes it. `ptxas` accepts it for sm_70 to sm_120.
typedef unsigned long long u64;
typedef unsigned u32;

// A part of a range: 32 bytes, as digest.rs writes it.
struct Chunk {
    u64 address;  // a multiple of 4
    u64 index;    // of its first word in the range
    u32 words;
    u32 first_mask, last_mask;  // the bits of the first and of the last word that belong to the range
    u32 pattern;                // what lab_fill writes
};

__device__ __forceinline__ u64 mix(u64 value, u64 key) {
    u64 x = (value ^ key) * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
    return x ^ (x >> 29);
}

// One block sums one chunk. The sum of a range is the sum over its chunks.
extern "C" __global__ void __launch_bounds__(256) lab_digest(const Chunk* table, u64* results, u64 key) {
    __shared__ u64 part[8];
    const Chunk c = table[blockIdx.x];
    const u32* words = (const u32*)c.address;
    u64 sum = 0;
    constexpr u32 AHEAD = 8;  // words that a thread waits for together
    for (u32 begin = threadIdx.x; begin < c.words; begin += AHEAD * 256) {
        u32 w[AHEAD];
#pragma unroll
        for (u32 j = 0; j < AHEAD; j++) w[j] = begin + 256 * j < c.words ? __ldcg(words + begin + 256 * j) : 0;
#pragma unroll
        for (u32 j = 0; j < AHEAD; j++) {
            const u32 i = begin + 256 * j;
            if (i == 0) w[j] &= c.first_mask;
            if (i == c.words - 1) w[j] &= c.last_mask;
            if (i < c.words) sum += mix((c.index + i) << 32 | w[j], key);
        }
    }
    for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(0xffffffffu, sum, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 all = 0;
        for (int i = 0; i < 8; i++) all += part[i];
        results[blockIdx.x] = all;
    }
}

// One block fills one chunk. Bits of a word that do not belong to the range stay.
extern "C" __global__ void __launch_bounds__(256) lab_fill(const Chunk* table) {
    const Chunk c = table[blockIdx.x];
    u32* words = (u32*)c.address;
    for (u32 i = threadIdx.x; i < c.words; i += 256) {
        u32 mask = 0xffffffffu;
        if (i == 0) mask &= c.first_mask;
        if (i == c.words - 1) mask &= c.last_mask;
        words[i] = mask == 0xffffffffu ? c.pattern : (words[i] & ~mask) | (c.pattern & mask);
    }
}

// Writes words of the noise, as noise_word of api/digest.rs. `mask` are the bits of a word's number that count: the noise
// repeats, and from SMALL_NOISE on it has small numbers.
extern "C" __global__ void __launch_bounds__(256) lab_noise(u32* to, u64 words, u64 first, u64 mask, u64 key) {
    constexpr u64 SMALL_NOISE = 1ull << 60;
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < words; i += gridDim.x * 256ull) {
        u64 word = (first + i) & mask;
        u32 random = (u32)(mix(word, key) >> 32);
        u32 number = word < SMALL_NOISE ? random & 0x03ff03ffu | 0x78007800u : random & 0x007f007fu | 0x3f803f80u;
        to[i] = number | (word & 1 ? 0x80008000u : 0u);
    }
}

// Fills the shared memory of a block, as much as a block may have. `volatile`: nothing reads it here.
extern "C" __global__ void __launch_bounds__(1024) lab_scrub(u32 words, u32 pattern) {
    extern __shared__ u32 shared[];
    volatile u32* all = shared;
    for (u32 i = threadIdx.x; i < words; i += 1024) all[i] = pattern;
}

// Takes about so many nanoseconds, with one thread.
extern "C" __global__ void lab_wait(u64 nanoseconds) {
    u64 began, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(began));
    // A timer that stands still ends the wait, too.
    for (u32 looks = 0; looks < 1000000; looks++) {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
        if (now - began >= nanoseconds) return;
    }
}
