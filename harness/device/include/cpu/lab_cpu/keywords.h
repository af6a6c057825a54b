// CUDA's keywords as macros. Included last, so that they do not affect the headers above.
#pragma once

// A kernel cannot tell that its accesses are watched.
#undef LAB_CPU_RACES

#define __CUDACC__ 1
#define __builtin_assume(condition) ((condition) ? void(0) : __builtin_unreachable())
#define __host__
#define __device__
#define __global__ __attribute__((used))
// A GPU's constants are set before any code runs.
#ifdef __clang__
#define __constant__
#else
#define __constant__ __constinit
#endif
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
// A kernel does not depend on when it is built, and NVRTC has no __COUNTER__.
#undef __DATE__
#undef __TIME__
#undef __TIMESTAMP__
#undef __COUNTER__
#define __DATE__ _Pragma("GCC error \"a kernel cannot depend on when it is built: remove __DATE__\"") ""
#define __TIME__ _Pragma("GCC error \"a kernel cannot depend on when it is built: remove __TIME__\"") ""
#define __TIMESTAMP__ _Pragma("GCC error \"NVRTC does not know __TIMESTAMP__: remove it\"") ""
#define __COUNTER__ _Pragma("GCC error \"NVRTC does not know __COUNTER__: use __LINE__\"") 0

#define asm _Pragma("GCC error \"inline PTX cannot run on the cpu device (guard it with #ifndef LAB_CPU)\"") lab_cpu_asm

// Copies: a kernel can neither store to them nor take their addresses.
#define threadIdx (uint3(lab_cpu_self->thread_index))
#define blockIdx (uint3(lab_cpu_self->block->index))
#define blockDim (dim3(lab_cpu_self->block->dim))
#define gridDim (dim3(lab_cpu_self->block->grid))
#define warpSize (lab_cpu_warp_size())

#undef assert
#define assert(condition) \
    ((condition) ? void(0) : lab_cpu_runtime->fail(lab_cpu_self, "assertion failed: " #condition, __FILE__, __LINE__))
