// Atomic functions on global and shared memory. Blocks run on several cores, so these are the host's own atomics. A kernel may wait
// in a loop around them, so each of them polls.
#pragma once

// CUDA's atomics are relaxed: what a thread stored before one is seen by others only if a fence stands between. A load after one is
// taken to see what the fence of another thread released, as it does on every GPU.
constexpr int lab_cpu_relaxed_order = __ATOMIC_ACQUIRE;

// Replaces the value by op(value) atomically: tries again if another thread changed it in between. Returns the old value.
template <class T, class Op>
inline T lab_cpu_atomic(T* address, Op op, int order = lab_cpu_relaxed_order) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
    using Word = lab_cpu_word<sizeof(T)>;
    lab_cpu_polled();
    Word* word = reinterpret_cast<Word*>(address);
    Word seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    for (;;) {
        T before;
        __builtin_memcpy(&before, &seen, sizeof before);
        const T after = op(before);
        Word wanted;
        __builtin_memcpy(&wanted, &after, sizeof after);
        if (__atomic_compare_exchange_n(word, &seen, wanted, true, order, __ATOMIC_RELAXED)) return before;
    }
}

// CUDA's own overloads, and no others: there is no atomicAdd of a signed 64-bit number.
#define LAB_CPU_ATOMIC(T, name, builtin)                       \
    inline T name(T* address, T value) {                       \
        lab_cpu_polled();                                      \
        return builtin(address, value, lab_cpu_relaxed_order); \
    }
#define LAB_CPU_ATOMIC_CAS(T)                                  \
    inline T atomicCAS(T* address, T compare, T value) {       \
        lab_cpu_polled();                                      \
        __atomic_compare_exchange_n(address, &compare, value, false, lab_cpu_relaxed_order, __ATOMIC_ACQUIRE); \
        return compare;                                        \
    }
#define LAB_CPU_ATOMIC_BITS(T)                                 \
    inline T atomicMin(T* address, T value) {                  \
        return lab_cpu_atomic(address, [=](T x) { return x < value ? x : value; }); \
    }                                                          \
    inline T atomicMax(T* address, T value) {                  \
        return lab_cpu_atomic(address, [=](T x) { return x > value ? x : value; }); \
    }                                                          \
    LAB_CPU_ATOMIC(T, atomicAnd, __atomic_fetch_and)           \
    LAB_CPU_ATOMIC(T, atomicOr, __atomic_fetch_or)             \
    LAB_CPU_ATOMIC(T, atomicXor, __atomic_fetch_xor)
#define LAB_CPU_ATOMICS(T)                                     \
    LAB_CPU_ATOMIC(T, atomicAdd, __atomic_fetch_add)           \
    LAB_CPU_ATOMIC(T, atomicExch, __atomic_exchange_n)         \
    LAB_CPU_ATOMIC_CAS(T)                                      \
    LAB_CPU_ATOMIC_BITS(T)
LAB_CPU_ATOMICS(int)
LAB_CPU_ATOMICS(unsigned)
LAB_CPU_ATOMICS(unsigned long long)
LAB_CPU_ATOMIC_BITS(long long)
LAB_CPU_ATOMIC_CAS(unsigned short)
#undef LAB_CPU_ATOMICS
#undef LAB_CPU_ATOMIC_BITS
#undef LAB_CPU_ATOMIC_CAS
#undef LAB_CPU_ATOMIC

inline int atomicSub(int* address, int value) { return atomicAdd(address, -value); }
inline unsigned atomicSub(unsigned* address, unsigned value) { return atomicAdd(address, 0u - value); }
inline unsigned atomicInc(unsigned* address, unsigned limit) {
    return lab_cpu_atomic(address, [=](unsigned x) { return x >= limit ? 0u : x + 1; });
}
inline unsigned atomicDec(unsigned* address, unsigned limit) {
    return lab_cpu_atomic(address, [=](unsigned x) { return x == 0 || x > limit ? limit : x - 1; });
}
inline float atomicExch(float* address, float value) {
    return lab_cpu_atomic(address, [=](float) { return value; });
}

inline float atomicAdd(float* address, float value) {
    return lab_cpu_atomic(address, [=](float x) { return x + value; });
}
inline double atomicAdd(double* address, double value) {
    return lab_cpu_atomic(address, [=](double x) { return x + value; });
}
inline float2 atomicAdd(float2* address, float2 value) {
    return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
inline float4 atomicAdd(float4* address, float4 value) {
    return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y), atomicAdd(&address->z, value.z),
            atomicAdd(&address->w, value.w)};
}

// All scopes behave alike on this device. The race detector knows them.
#define LAB_CPU_SCOPED(name)                                                                \
    template <class T, class... V>                                                          \
    inline auto name##_block(T* address, V... values) {                                     \
        lab_cpu_scope<true> scope;                                                    \
        return name(address, T(values)...);                                                 \
    }                                                                                       \
    template <class T, class... V>                                                          \
    inline auto name##_system(T* address, V... values) { return name(address, T(values)...); }
LAB_CPU_SCOPED(atomicAdd)
LAB_CPU_SCOPED(atomicSub)
LAB_CPU_SCOPED(atomicExch)
LAB_CPU_SCOPED(atomicCAS)
LAB_CPU_SCOPED(atomicMin)
LAB_CPU_SCOPED(atomicMax)
LAB_CPU_SCOPED(atomicAnd)
LAB_CPU_SCOPED(atomicOr)
LAB_CPU_SCOPED(atomicXor)
#undef LAB_CPU_SCOPED
