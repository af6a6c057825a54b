// CUDA's keywords as macros. Included last, so that they do not affect the headers above.
#pragma once

// A kernel cannot tell that its accesses are watched.
#undef LAB_CPU_RACES

#define __CUDACC__ 1
#define __host__
#define __device__
#define __global__ __attribute__((used))
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#undef __noinline__
#define __noinline__ __attribute__((noinline))
#define __inline_hint__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __block_size__(...)
#define __align__(n) alignas(n)
#define __builtin_align__(n) alignas(n)
#define __cluster_dims__(...) \
    _Pragma("GCC error \"thread block clusters cannot run on the cpu device (guard them with #ifndef LAB_CPU)\"")

// lab removes these words from a source before the compiler sees it. A word that is left comes from a macro.
#define __shared__ \
    _Pragma("GCC error \"__shared__ inside a macro is not supported on the cpu device: write the declaration out\"")
#define asm _Pragma("GCC error \"inline PTX cannot run on the cpu device (guard it with #ifndef LAB_CPU)\"") lab_cpu_asm

#define threadIdx (lab_cpu_self->thread_index)
#define blockIdx (lab_cpu_self->block->index)
#define blockDim (lab_cpu_self->block->dim)
#define gridDim (lab_cpu_self->block->grid)
#define warpSize 32

#undef assert
#define assert(condition) \
    ((condition) ? void(0) : lab_cpu_runtime->fail(lab_cpu_self, "assertion failed: " #condition, __FILE__, __LINE__))
