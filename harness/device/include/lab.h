// The header for kernel.cu and reference.cu. It works on a GPU and on the cpu device (LAB_CPU is defined there).
//
// # The launch statement
// A kernel states in kernel.cu how it is launched, because kernel.cu is the only file that an experiment changes:
//
//   extern "C" __global__ void rmsnorm_f32(const float* x, const float* gain, float* y, int rows, int cols) { … }
//
//   LAB_LAUNCH(rmsnorm_f32) {
//       launch.grid[0] = dims.rows;
//       launch.block[0] = 256;
//   }
//
// The body runs once on the device, before the launch, as a kernel of one thread. It reads `dims` (LabDims: the
// problem's named dimensions) and `device` (LabDevice). It sets `launch` (LabShape). Every extent of grid, block and
// cluster that the body does not set is 1. LAB_LAUNCHES states several launches: see LabLaunches.
//
// # The helpers
// The helpers below give the same results on both devices. kernels/README.md has an overview.
#pragma once

#include "lab_problem.h"  // generated from the problem: struct LabDims

struct LabDevice {
    unsigned sms;               // streaming multiprocessors; 16 on the cpu device unless LAB_CPU_SMS says otherwise
    unsigned max_shared_bytes;  // the most shared memory that one block may use
};

// NVRTC knows this word of nvcc and of the host's compilers by its standard name only.
#ifdef __CUDACC_RTC__
#define __asm__ asm
#endif

// What the cpu device cannot run: a call is a build error that names the line.
#ifdef LAB_CPU
#define LAB_GPU_ONLY(reason) __attribute__((error(reason)))
#else
#define LAB_GPU_ONLY(reason)
#endif

#ifndef LAB_CPU
// A TMA tensor map as a kernel gets it: `const __grid_constant__ LabTensorMap x_map`. It has the 128 bytes of a
// CUtensorMap of cuda.h, which NVRTC refuses: `using CUtensorMap = LabTensorMap;` gives a kernel that name.
struct alignas(128) LabTensorMap {
    unsigned long long opaque[16];
};
#endif

enum LabSwizzle : unsigned { LAB_SWIZZLE_NONE, LAB_SWIZZLE_32B, LAB_SWIZZLE_64B, LAB_SWIZZLE_128B };
enum LabInterleave : unsigned { LAB_INTERLEAVE_NONE, LAB_INTERLEAVE_16B, LAB_INTERLEAVE_32B };
enum LabL2Promotion : unsigned { LAB_L2_NONE, LAB_L2_64B, LAB_L2_128B, LAB_L2_256B };

// A tensor map that a launch statement asks for. Extents, strides and the box begin with the innermost dimension, as
// in cuTensorMapEncodeTiled. What the statement does not set follows from the tensor's type and shape in problem.toml:
// the last extent there is extent[0] here.
struct LabMapRequest {
    unsigned long long extent[5];  // elements; 0: as the tensor
    unsigned long long stride[5];  // bytes from one element of a dimension to the next; stride[0] is the element; 0: dense
    unsigned box[5];               // elements that one copy moves
    unsigned element_strides[5];   // 1: every element
    unsigned rank;                 // 0: as the tensor. Another rank needs every extent.
    unsigned element;              // bytes of an element of the scratch buffer, which has no type: 1, 2, 4 or 8
    LabSwizzle swizzle;
    LabInterleave interleave;
    LabL2Promotion l2_promotion;
    unsigned fill_nan;  // 1: elements outside the tensor are NaN instead of 0
    unsigned line;      // of the request in the source
    unsigned unused;
    char tensor[64];
};

enum LabLimits : unsigned { LAB_MOST_LAUNCHES = 4096, LAB_MOST_MAPS = 8, LAB_MOST_ARGS = 8, LAB_NAME_BYTES = 128 };

// Copies a name, with a NUL behind it. A name that is too long ends without one, and the launch is refused.
template <unsigned N>
__device__ inline void lab_copy_name(char (&to)[N], const char* from) {
    unsigned i = 0;
    for (; i < N && from[i]; ++i) to[i] = from[i];
    if (i < N) to[i] = 0;
}

struct LabShape {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;  // dynamic shared memory of a block
    unsigned cooperative;   // 1: all blocks are resident at once, so cooperative_groups::this_grid().sync() may be used
    unsigned cluster[3];    // blocks of a thread block cluster; 1 × 1 × 1: no clusters. Not on the cpu device.
    unsigned line;          // of the statement in the source
    unsigned maps;
    unsigned args;
    char entry[LAB_NAME_BYTES];
    unsigned arg_bytes[LAB_MOST_ARGS];
    unsigned char arg_content[LAB_MOST_ARGS][8];
    LabMapRequest map[LAB_MOST_MAPS];

    // Gives the kernel an argument in this launch: a number such as the size of a pass. Returns the launch, so that
    // calls can follow one another. The kernel's parameter must have the type of `value`: write arg(2u) for an unsigned.
    // The arguments come behind the problem's parameters and a list's scratch pointer, before the tensor maps, in the
    // order of these calls.
    template <class T>
    __device__ LabShape& arg(T value) {
        static_assert(sizeof(T) <= 8 && __is_trivially_copyable(T), "an argument of a launch is a number of at most 8 bytes");
        if (args < LAB_MOST_ARGS) {
            const unsigned char* from = reinterpret_cast<const unsigned char*>(&value);
            arg_bytes[args] = sizeof(T);
            for (unsigned i = 0; i < sizeof(T); ++i) arg_content[args][i] = from[i];
        }
        ++args;
        return *this;
    }

    // Asks for a tensor map of a tensor of problem.toml, or of the list's "scratch". Set its box and whatever else
    // differs from the tensor. The kernel gets the maps as its last parameters, in the order of these calls.
    LAB_GPU_ONLY("tensor maps (TMA) cannot be used on the cpu device: guard the call with #ifndef LAB_CPU")
    __device__ LabMapRequest& tensor_map(const char* tensor, unsigned at = __builtin_LINE());

    __device__ void lab_begin(unsigned at) {
        for (int i = 0; i < 3; ++i) grid[i] = block[i] = cluster[i] = 1;
        shared_bytes = cooperative = maps = args = 0;
        line = at;
        entry[0] = 0;
    }
};

#ifndef LAB_CPU
__device__ inline LabMapRequest& LabShape::tensor_map(const char* tensor, unsigned at) {
    LabMapRequest& asked = map[maps < LAB_MOST_MAPS ? maps : LAB_MOST_MAPS - 1];
    ++maps;
    for (int i = 0; i < 5; ++i) {
        asked.extent[i] = asked.stride[i] = asked.box[i] = 0;
        asked.element_strides[i] = 1;
    }
    asked.rank = asked.element = asked.fill_nan = asked.unused = 0;
    asked.swizzle = LAB_SWIZZLE_NONE;
    asked.interleave = LAB_INTERLEAVE_NONE;
    asked.l2_promotion = LAB_L2_NONE;
    asked.line = at;
    lab_copy_name(asked.tensor, tensor);
    return asked;
}
#endif

// An ordered list of launches, at most LAB_MOST_LAUNCHES, which LAB_LAUNCHES states:
//
//   LAB_LAUNCHES(total) {
//       launches.scratch_bytes = 4 * blocks;
//       LabShape& partial = launches.add("total_partial");
//       partial.grid[0] = blocks;
//       partial.block[0] = 256;
//       for (int step = blocks / 2; step > 0; step /= 2)
//           launches.add("total_pairs").arg(step).block[0] = step;
//   }
//
// Each kernel of the list gets the problem's parameters, then the pointer to the scratch buffer (null without one), then
// the arguments of the launch, then its tensor maps. The scratch buffer is aligned to 256 bytes. No launch finds what an earlier run of the list left
// there: with `zeroed` the buffer is zeros when the list begins, and the time of the zeroing counts; without it the
// buffer holds a pattern that no kernel may rely on.
struct LabLaunches {
    unsigned long long scratch_bytes;
    unsigned zeroed;
    unsigned count;
    unsigned line;
    unsigned unused;
    LabShape launch[LAB_MOST_LAUNCHES];

    // Adds a launch of the extern "C" kernel with this name.
    __device__ LabShape& add(const char* entry, unsigned at = __builtin_LINE()) {
        LabShape& next = launch[count < LAB_MOST_LAUNCHES ? count : LAB_MOST_LAUNCHES - 1];
        ++count;
        next.lab_begin(at);
        lab_copy_name(next.entry, entry);
        return next;
    }
};

// The names go through a second macro, so that `entry` may be a macro.
#define LAB_LAUNCH(entry) LAB_LAUNCH_(entry)
#define LAB_LAUNCH_(entry)                                                                             \
    __device__ void lab_shape_##entry(const LabDims& dims, const LabDevice& device, LabShape& launch); \
    extern "C" __global__ void lab_launch_##entry(LabDims dims, LabDevice device, LabShape* out) {     \
        out->lab_begin(__LINE__);                                                                      \
        lab_shape_##entry(dims, device, *out);                                                         \
    }                                                                                                  \
    __device__ void lab_shape_##entry([[maybe_unused]] const LabDims& dims,                            \
                                      [[maybe_unused]] const LabDevice& device, LabShape& launch)

#define LAB_LAUNCHES(entry) LAB_LAUNCHES_(entry)
#define LAB_LAUNCHES_(entry)                                                                                \
    __device__ void lab_list_##entry(const LabDims& dims, const LabDevice& device, LabLaunches& launches);  \
    extern "C" __global__ void lab_launches_##entry(LabDims dims, LabDevice device, LabLaunches* out) {     \
        out->scratch_bytes = 0;                                                                             \
        out->zeroed = out->count = out->unused = 0;                                                         \
        out->line = __LINE__;                                                                               \
        lab_list_##entry(dims, device, *out);                                                               \
    }                                                                                                       \
    __device__ void lab_list_##entry([[maybe_unused]] const LabDims& dims,                                  \
                                     [[maybe_unused]] const LabDevice& device, LabLaunches& launches)

// ---- Sums, noise, registers ----------------------------------------------------------------------

// Returns the sum of `value` over the 32 lanes of a full warp, in every lane. The order of additions is fixed: xor
// shuffles of 16, 8, 4, 2, 1, each followed by one f32 addition. The cpu device adds in the same order.
__device__ inline float lab_warp_sum(float value) {
#ifdef LAB_CPU
    return lab_cpu_warp_sum(value);
#else
    for (int bits = 16; bits > 0; bits /= 2) value += __shfl_xor_sync(0xffffffffu, value, bits);
    return value;
#endif
}

// Returns four random words from a counter and a key: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011).
__device__ inline uint4 lab_philox(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; ++round) {
        const unsigned high0 = __umulhi(0xD2511F53u, counter.x), low0 = 0xD2511F53u * counter.x;
        const unsigned high1 = __umulhi(0xCD9E8D57u, counter.z), low1 = 0xCD9E8D57u * counter.z;
        counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return counter;
}

// Returns the natural logarithm of x, with an error of at most 1 unit in the last place. x must be positive and normal.
// The result does not depend on compile options: --use_fast_math replaces logf by the hardware's logarithm, which is
// wrong by up to 8e-3 in a Gumbel value. Method: x = m * 2^e with m in [2/3, 4/3);
// log(1 + f) = f - f^2/2 + f^3 P(f), P fitted at Chebyshev points (relative error 3e-9 at most).
__device__ inline float lab_log(float x) {
    const int bits = int(__float_as_uint(x)), exponent = (bits - 0x3f2aaaab) >> 23;
    const float f = __uint_as_float(unsigned(bits - exponent * (1 << 23))) - 1.0f, e = float(exponent);
    float p = fmaf(0.11619525f, f, -0.12429866f);
    p = fmaf(p, f, 0.108516574f);
    p = fmaf(p, f, -0.12287237f);
    p = fmaf(p, f, 0.14296292f);
    p = fmaf(p, f, -0.16673398f);
    p = fmaf(p, f, 0.19999851f);
    p = fmaf(p, f, -0.24999943f);
    p = fmaf(p, f, 0.33333334f);
    const float f2 = f * f;
    // ln 2 is split in two parts. The first has so few bits that its product with e is exact.
    const float small = fmaf(e, -2.12194440e-4f, fmaf(f2 * f, p, -0.5f * f2));
    return fmaf(e, 0.693359375f, f + small);
}

// Returns Gumbel noise from one random word: -ln(-ln(uniform)) with uniform = ((word >> 9) + 0.5) / 2^23. An f32 holds
// this uniform value exactly.
__device__ inline float lab_gumbel_of(unsigned word) {
    const float uniform = (float(word >> 9) + 0.5f) * (1.0f / 8388608.0f);
    return -lab_log(-lab_log(uniform));
}

// Returns the noise of one token at one step: from word token % 4 of Philox at counter (token / 4, step, 0, 0), with
// the seed as key. For four neighbouring tokens, call lab_philox once and lab_gumbel_of four times.
__device__ inline float lab_gumbel(unsigned seed_low, unsigned seed_high, unsigned step, unsigned token) {
    const uint4 words = lab_philox(make_uint4(token / 4, step, 0, 0), make_uint2(seed_low, seed_high));
    const unsigned low = token & 1 ? words.y : words.x, high = token & 1 ? words.w : words.z;
    return lab_gumbel_of(token & 2 ? high : low);
}

// Hides from the compiler how `value` was computed. The compiler then keeps it in its register and does not compute it
// again at each use, which it otherwise prefers for cheap expressions.
__device__ inline void lab_pin([[maybe_unused]] float& value) {
#ifndef LAB_CPU
    asm("" : "+f"(value));
#endif
}

// ---- Exchange between blocks of a cooperative launch --------------------------------------------

// Loads a value for polling. The load bypasses the first-level cache. On the cpu device it lets other threads run first.
template <class T>
__device__ inline T lab_poll(const T* address) {
#ifdef LAB_CPU
    return lab_cpu_poll(address);
#else
    return *static_cast<const volatile T*>(address);
#endif
}

// Tagged words. A tagged word is 8 bytes, stored and loaded in one access. Its low half is a float. Its high half is
// the tag: the epoch, which is the number of the exchange. A reader that sees the tag also has the value, so no fence,
// flag or reset is needed. Memory starts as zeros, so epochs begin at 1. Write a word again only after all its readers
// have read it. If a kernel uses two words alternately, the exchange in between guarantees this.
__device__ inline void lab_store_tagged(unsigned long long* word, float value, unsigned epoch) {
    *static_cast<volatile unsigned long long*>(word) =
        static_cast<unsigned long long>(epoch) << 32 | __float_as_uint(value);
}

// Waits until the word has the tag `epoch`, and returns its value. It does not order any other memory access.
__device__ inline float lab_load_tagged(const unsigned long long* word, unsigned epoch) {
    unsigned long long seen;
    do seen = lab_poll(word);
    while (static_cast<unsigned>(seen >> 32) != epoch);
    return __uint_as_float(static_cast<unsigned>(seen));
}

// Stores two neighbouring words in one 16-byte access. `words` must be aligned to 16 bytes.
__device__ inline void lab_store_tagged(unsigned long long* words, float2 values, unsigned epoch) {
#ifdef LAB_CPU
    lab_store_tagged(words, values.x, epoch);
    lab_store_tagged(words + 1, values.y, epoch);
#else
    const unsigned long long tag = static_cast<unsigned long long>(epoch) << 32;
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(words), "l"(tag | __float_as_uint(values.x)),
                 "l"(tag | __float_as_uint(values.y))
                 : "memory");
#endif
}

// Waits for N pairs of neighbouring words; the pairs are `apart` words from one another. All loads are issued before
// the first value is used, so N pairs cost the latency of one.
template <int N>
__device__ inline void lab_load_tagged(const unsigned long long* words, int apart, unsigned epoch, float2 (&values)[N]) {
#ifdef LAB_CPU
    for (int i = 0; i < N; ++i) {
        values[i].x = lab_load_tagged(words + i * apart, epoch);
        values[i].y = lab_load_tagged(words + i * apart + 1, epoch);
    }
#else
    bool all;
    do {
        unsigned long long seen[N][2];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                         : "=l"(seen[i][0]), "=l"(seen[i][1])
                         : "l"(words + i * apart));
        }
        all = true;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            all &= unsigned(seen[i][0] >> 32) == epoch && unsigned(seen[i][1] >> 32) == epoch;
            values[i] = make_float2(__uint_as_float(unsigned(seen[i][0])), __uint_as_float(unsigned(seen[i][1])));
        }
    } while (!all);
#endif
}

// Marked values. A marked value is an f32 whose lowest bit is the mark. It has half the bytes of a tagged word. Its
// error is half a unit in the last place on average. Each value that is written to a word has another mark than the
// value before. Memory starts as zeros, so the first mark is 1. Write a word again only after all its readers have read
// it, as with tagged words.
__device__ inline float lab_marked(float value, unsigned mark) {
    return __uint_as_float((__float_as_uint(value) & ~1u) | (mark & 1u));
}
__device__ inline void lab_store_marked(float* word, float value, unsigned mark) {
    *static_cast<volatile float*>(word) = lab_marked(value, mark);
}

// Stores four neighbouring words in one 16-byte access. `words` must be aligned to 16 bytes.
__device__ inline void lab_store_marked(float* words, float4 values, unsigned mark) {
#ifdef LAB_CPU
    lab_store_marked(words, values.x, mark);
    lab_store_marked(words + 1, values.y, mark);
    lab_store_marked(words + 2, values.z, mark);
    lab_store_marked(words + 3, values.w, mark);
#else
    asm volatile("st.relaxed.gpu.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(words), "f"(lab_marked(values.x, mark)),
                 "f"(lab_marked(values.y, mark)), "f"(lab_marked(values.z, mark)), "f"(lab_marked(values.w, mark))
                 : "memory");
#endif
}

// Loads N groups of four neighbouring words as they are now; the groups are `apart` words from one another. It does not
// wait for the marks, so the caller can do other work while the loads are on their way. Call lab_wait_marked next.
template <int N>
__device__ inline void lab_peek_marked(const float* words, int apart, float4 (&values)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
#ifdef LAB_CPU
        const float* at = words + i * apart;
        values[i] = make_float4(lab_poll(at), lab_poll(at + 1), lab_poll(at + 2), lab_poll(at + 3));
#else
        asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(values[i].x), "=f"(values[i].y), "=f"(values[i].z), "=f"(values[i].w)
                     : "l"(words + i * apart));
#endif
    }
}

// Loads the same groups again until all words have the mark. The values keep their marks.
template <int N>
__device__ inline void lab_wait_marked(const float* words, int apart, unsigned mark, float4 (&values)[N]) {
    for (;;) {
        unsigned wrong = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            wrong |= (__float_as_uint(values[i].x) ^ mark) | (__float_as_uint(values[i].y) ^ mark) |
                     (__float_as_uint(values[i].z) ^ mark) | (__float_as_uint(values[i].w) ^ mark);
        }
        if (!(wrong & 1u)) return;
        lab_peek_marked(words, apart, values);
    }
}

// lab_peek_marked and lab_wait_marked in one call. All loads are issued before the first value is used.
template <int N>
__device__ inline void lab_load_marked(const float* words, int apart, unsigned mark, float4 (&values)[N]) {
    lab_peek_marked(words, apart, values);
    lab_wait_marked(words, apart, mark, values);
}
__device__ inline float4 lab_load_marked(const float* words, unsigned mark) {
    float4 values[1];
    lab_load_marked(words, 0, mark, values);
    return values[0];
}

// Counted sums. A counted sum is a 64-bit word to which many threads add, and which also counts the additions. Its upper
// 56 bits are the sum in fixed point with a unit of 2^-36; its low 8 bits are the number of additions. Integer addition
// gives the same sum in any order, so the sum is the same in every run. The word is never reset: a reader keeps the
// word of the last exchange and takes the difference. The sum must stay below 2^19, with at most 255 additions between
// two reads.
__device__ inline void lab_add_counted(unsigned long long* sum, float value) {
    const long long fixed = __float2ll_rn(value * 68719476736.0f);
    atomicAdd(sum, (static_cast<unsigned long long>(fixed) << 8) + 1);
}

// Waits until `additions` have been made since the word was zero, and returns the word. `seen` is a value that lab_poll
// returned before.
__device__ inline unsigned long long lab_wait_counted(const unsigned long long* sum, unsigned additions,
                                                      unsigned long long seen) {
    while ((static_cast<unsigned>(seen) & 255u) != (additions & 255u)) seen = lab_poll(sum);
    return seen;
}
__device__ inline unsigned long long lab_load_counted(const unsigned long long* sum, unsigned additions) {
    return lab_wait_counted(sum, additions, lab_poll(sum));
}

// Returns the sum of the values that were added between two words of the same counted sum.
__device__ inline float lab_counted_between(unsigned long long before, unsigned long long after) {
    return static_cast<float>(static_cast<long long>(after - before) >> 8) * (1.0f / 68719476736.0f);
}

// A barrier over all threads of a cooperative launch, cheaper than cg::this_grid().sync(). Every thread of every block
// must call it. All writes before the barrier are visible to all threads after it. `arrivals` points to a word that is
// zero before the launch and that nothing else uses. The word only counts up and is never reset.
__device__ inline void lab_grid_barrier(unsigned* arrivals) {
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
        const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
        __threadfence();
        const unsigned before = atomicAdd(arrivals, 1u);
        const unsigned goal = before - before % blocks + blocks;
        while (static_cast<int>(lab_poll(arrivals) - goal) < 0) {
        }
        __threadfence();
    }
    __syncthreads();
}
