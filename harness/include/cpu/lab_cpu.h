// CUDA for the host C++ compiler: what every kernel.cu sees on the cpu device, precompiled.
//
// Device code may ask `#ifdef LAB_CPU`. What only this device offers, for that branch:
//
//   float lab_cpu_warp_sum(float value, unsigned mask = 0xffffffffu)
//       The sum over the lanes of the mask, in every lane, by one rendezvous of the warp. With a full mask it
//       agrees bit by bit with five __shfl_xor_sync of 16, 8, 4, 2, 1, each followed by an addition.
//   void lab_yield()
//       Lets the other threads run. A loop that waits for memory written by another thread must call it, or poll
//       through an atomic, __ldcg, __ldcv or cuda::atomic_ref: these yield now and then.
//   T lab_cpu_poll(const T* address)
//       A volatile load that always yields first: for loops that wait for one word.
//
// A plain volatile load in a loop never yields, so a spin on one ends only at the time limit.
#pragma once

#define LAB_CPU 1

// Each builds on those before it; the keywords, which are macros, come last.
#include "lab_cpu/standard.h"
#include "lab_cpu/runtime.h"
#include "lab_cpu/races.h"
#include "lab_cpu/vector_types.h"
#include "lab_cpu/math.h"
#include "lab_cpu/memory.h"
#include "lab_cpu/warp.h"
#include "lab_cpu/half.h"
#include "lab_cpu/atomics.h"
#include "lab_cpu/groups.h"
#include "lab_cpu/atomic_ref.h"
#include "lab_cpu/keywords.h"
