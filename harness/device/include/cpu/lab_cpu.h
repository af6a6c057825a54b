// CUDA's names for the host C++ compiler. Every kernel.cu includes this header on the cpu device. It is precompiled.
//
// Device code may use `#ifdef LAB_CPU`. In that branch these functions are available:
//
//   float lab_cpu_warp_sum(float value, unsigned mask = 0xffffffffu)
//       Returns the sum over the lanes of the mask, in every lane. With a full mask the result is bit by bit that of
//       five __shfl_xor_sync of 16, 8, 4, 2, 1, each followed by an addition.
//   void lab_yield()
//       Lets the other threads run. A loop that waits for memory written by another thread must call it, or poll
//       through an atomic, __ldcg, __ldcv or cuda::atomic_ref, which yield from time to time.
//   T lab_cpu_poll(const T* address)
//       Yields, then does a volatile load. For loops that wait for one word.
//
// A plain volatile load in a loop never yields. Such a loop ends only at the time limit.
//
// What CUDA keeps in headers of its own is in headers of these names here too, and a kernel has to include them.
#pragma once
#pragma GCC system_header

#define LAB_CPU 1

// Each header uses those before it. The keywords are macros and come last.
#include "lab_cpu/standard.h"
#include "lab_cpu/runtime.h"
#include "lab_cpu/races.h"
#include "lab_cpu/checked.h"
#include "lab_cpu/vector_types.h"
#include "lab_cpu/math.h"
#include "lab_cpu/special.h"
#include "lab_cpu/rounding.h"
#include "lab_cpu/simd.h"
#include "lab_cpu/memory.h"
#include "lab_cpu/warp.h"
#include "lab_cpu/atomics.h"
#include "lab_cpu/keywords.h"
