// The instructions of sm_90a that a matrix product needs, as functions: barriers in shared memory (mbarrier), the copy engine (TMA) and
// the tensor cores (wgmma). The facts are from NVIDIA's PTX ISA: the sections on mbarrier, cp.async.bulk.tensor and wgmma.
#pragma once

#include "lab.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned long long Barrier;

// An address of shared memory as PTX wants it.
__device__ inline unsigned shared(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// ---- Barriers. A phase ends when all arrivals have come and all bytes that were announced. ----

__device__ inline void barrier_init(Barrier* bar, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(bar)), "r"(arrivals));
}

// Makes the barriers that this thread has initialised visible to the copy engine and to the other blocks of the cluster.
__device__ inline void barrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Arrives, and announces bytes that will be copied.
__device__ inline void barrier_expect(Barrier* bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(bar)), "r"(bytes) : "memory");
}

__device__ inline void barrier_arrive(Barrier* bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(bar)) : "memory");
}

// Arrives at the barrier that has this place in a block of the cluster.
__device__ inline void barrier_arrive(Barrier* bar, int block) {
    asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n}\n" ::"r"(shared(bar)), "r"(block)
                 : "memory");
}

// Waits until the phase of this parity has ended. The first phase has parity 0; the one before it, of parity 1, counts as ended.
__device__ inline void barrier_wait(Barrier* bar, int parity) {
    for (int done = 0; !done;)
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}\n"
                     : "=r"(done) : "r"(shared(bar)), "r"(parity) : "memory");
}

// A barrier of all threads of a cluster.
__device__ inline void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

// A barrier of the 128 threads of a warpgroup; `name` is from 1 to 15.
__device__ inline void warpgroup_barrier(int name) { asm volatile("bar.sync %0, 128;" ::"r"(name) : "memory"); }

// A warpgroup gives registers back to its block, or takes what another one gave: each of its threads has N then. It is the first thing in
// the branch of the warpgroup's role. The kernel needs __launch_bounds__(threads, 1).
template <int N>
__device__ inline void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N>
__device__ inline void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }

// ---- The copy engine. It moves boxes of tensors whose rows begin at multiples of 16 bytes. ----

// Copies a box to shared memory, and counts its bytes at the barrier. What lies outside of the tensor is zeros.
__device__ inline void load_box(void* to, const LabTensorMap& map, int column, int row, Barrier* bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];" ::"r"(shared(to)), "l"(&map), "r"(column), "r"(row), "r"(shared(bar))
                 : "memory");
}

// Copies a box to the same place in each block in `blocks`, a bit for each of the cluster, and counts its bytes at the barrier of each.
__device__ inline void load_box(void* to, const LabTensorMap& map, int column, int row, Barrier* bar, unsigned short blocks) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared(to)), "l"(&map), "r"(column), "r"(row), "r"(shared(bar)), "h"(blocks)
                 : "memory");
}

// Fetches a map, so that the first copy need not wait for it.
__device__ inline void prefetch_map(const LabTensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }

// Makes what this thread has written to shared memory visible to the copy engine.
__device__ inline void shared_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Copies a box from shared memory. What lies outside of the tensor is left out.
__device__ inline void store_box(const LabTensorMap& map, int column, int row, const void* from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\ncp.async.bulk.commit_group;" ::"l"(&map),
                 "r"(column), "r"(row), "r"(shared(from))
                 : "memory");
}

// The same. These cells are the first to leave the L2 cache.
__device__ inline void store_box_evict_first(const LabTensorMap& map, int column, int row, const void* from) {
    asm volatile("{\n.reg .b64 policy;\ncreatepolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
                 "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%1, %2}], [%3], policy;\n"
                 "cp.async.bulk.commit_group;\n}\n" ::"l"(&map), "r"(column), "r"(row), "r"(shared(from))
                 : "memory");
}

// Waits until all stores of this thread but the last N have read their shared memory.
template <int N>
__device__ inline void wait_stores() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }

// A warp stores two matrices of 8 x 8 numbers of 2 bytes. A lane holds two neighbours of each, in row lane / 4 and from column
// lane % 4 * 2 on. Lane i of the first 16 says where row i of the 16 rows of both is.
__device__ inline void store_matrices(void* row, unsigned upper, unsigned lower) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(shared(row)), "r"(upper), "r"(lower) : "memory");
}

// ---- The tensor cores ----

// Stands before the first product of a group, and between other uses of its sums and the product.
__device__ inline void products_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Ends a group of products.
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until all groups of products but the last N are done.
template <int N>
__device__ inline void wait_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }

// Describes a matrix in shared memory to wgmma. A row has 64 numbers, which are 128 bytes, and the copy engine has swizzled it: of the 8
// pieces of 16 bytes of row r, piece p is at place p ^ (r % 8). Bits 0 to 13 are the address, 16 to 29 are not used with this swizzle,
// 32 to 45 are the distance of groups of 8 rows, all in units of 16 bytes; 1 in bits 62 and 63 is the swizzle of 128 bytes.
__device__ inline unsigned long long describe(const void* matrix) {
    return (shared(matrix) & 0x3ffff) >> 4 | 1ull << 16 | 1024ull / 16 << 32 | 1ull << 62;
}

// The names of operands of inline PTX in tens, and operands.
#define TEN(t) "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define TO_59 TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5)
#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
#define D64(i) D16(i), D16(i + 16), D16(i + 32), D16(i + 48)

#define WGMMA(n, type, names, ab, flag, ...)                                                                                 \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " flag ", 0;\n"                                                           \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" names "}, " ab ", p, 1, 1, 0, 0;\n}\n" \
                 : __VA_ARGS__ : "l"(a), "l"(b), "r"(keep))

#define WGMMAS(type)                                                                                                  \
    static_assert(N == 64 || N == 128 || N == 168 || N == 192 || N == 256, "there is no product of so many columns here");        \
    if constexpr (N == 64) WGMMA(64, type, TEN() TEN(1) TEN(2) "%30,%31", "%32, %33", "%34", D16(0), D16(16));        \
    if constexpr (N == 128) WGMMA(128, type, TO_59 "%60,%61,%62,%63", "%64, %65", "%66", D64(0));                     \
    if constexpr (N == 168)                                                                                           \
        WGMMA(168, type, TO_59 TEN(6) TEN(7) "%80,%81,%82,%83", "%84, %85", "%86", D64(0), D16(64), D4(80));          \
    if constexpr (N == 192)                                                                                           \
        WGMMA(192, type, TO_59 TEN(6) TEN(7) TEN(8) "%90,%91,%92,%93,%94,%95", "%96, %97", "%98", D64(0), D16(64), D16(80)); \
    if constexpr (N == 256)                                                                                           \
        WGMMA(256, type, TO_59 TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11) "%120,%121,%122,%123,%124,%125,%126,%127", \
              "%128, %129", "%130", D64(0), D64(64));

// Adds the product of 64 rows of a and N rows of b, 16 columns of each, to d. `keep` = 0: d holds nothing before. A thread has of each 8
// columns of d two neighbouring cells, in each of two rows that are 8 apart: d[4 j] and d[4 j + 1] are in row lane / 4 of the warp's 16,
// in the columns 8 j + lane % 4 * 2 and the next one; d[4 j + 2] and d[4 j + 3] are 8 rows below.
template <int N>
__device__ inline void multiply_add(__nv_bfloat16, float (&d)[N / 2], unsigned long long a, unsigned long long b, int keep) {
    WGMMAS("bf16")
}
template <int N>
__device__ inline void multiply_add(__half, float (&d)[N / 2], unsigned long long a, unsigned long long b, int keep) {
    WGMMAS("f16")
}
