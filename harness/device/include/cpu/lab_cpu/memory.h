// Loads and stores with cache hints, fences, clocks, address spaces. Loads that bypass a cache poll, because a kernel may
// wait in a loop around them.
#pragma once

template <class T>
inline T __ldg(const T* address) {
    lab_cpu_race_read_only(address, sizeof(T));
    return *address;
}

#define LAB_CPU_POLLING_LOAD(name)                                                              \
    template <class T>                                                                          \
    inline T name(const T* address) {                                                           \
        lab_cpu_polled();                                                                       \
        if constexpr (lab_cpu_is_arithmetic<T>) return *static_cast<const volatile T*>(address); \
        __atomic_signal_fence(__ATOMIC_SEQ_CST);                                                \
        return lab_cpu_load_words(address);                                                     \
    }
LAB_CPU_POLLING_LOAD(__ldcg)
LAB_CPU_POLLING_LOAD(__ldca)
LAB_CPU_POLLING_LOAD(__ldcs)
LAB_CPU_POLLING_LOAD(__ldlu)
LAB_CPU_POLLING_LOAD(__ldcv)
#undef LAB_CPU_POLLING_LOAD

#define LAB_CPU_STORE(name)                                                                   \
    template <class T>                                                                        \
    inline void name(T* address, T value) {                                                   \
        if constexpr (lab_cpu_is_arithmetic<T>) *static_cast<volatile T*>(address) = value;    \
        else lab_cpu_store_words(address, value);                                             \
        __atomic_signal_fence(__ATOMIC_SEQ_CST);                                              \
    }
LAB_CPU_STORE(__stwb)
LAB_CPU_STORE(__stcg)
LAB_CPU_STORE(__stcs)
LAB_CPU_STORE(__stwt)
#undef LAB_CPU_STORE

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() {
    lab_cpu_scope<true> scope;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

inline void __nanosleep(unsigned) { lab_yield(); }

inline unsigned long long lab_cpu_nanoseconds() {
    long now[2];
    lab_cpu_clock_gettime(1, now);  // CLOCK_MONOTONIC
    return static_cast<unsigned long long>(now[0]) * 1000000000ull + static_cast<unsigned long long>(now[1]);
}
// Time in nanoseconds, as if the clock ran at 1 GHz. A kernel may wait in a loop around them, so they poll.
inline long long clock64() {
    lab_cpu_polled();
    return static_cast<long long>(lab_cpu_nanoseconds());
}
#ifndef LAB_CPU_HOST
inline clock_t clock() { return clock_t(clock64()); }
#endif
inline unsigned long long __globaltimer() {
    lab_cpu_polled();
    return lab_cpu_nanoseconds();
}

// Which memory an address is in.
inline unsigned __isShared(const void* address) { return lab_cpu_runtime->is_shared(lab_cpu_self, address); }
inline unsigned __isLocal(const void* address) { return lab_cpu_runtime->is_local(lab_cpu_self, address); }
inline unsigned __isGlobal(const void* address) { return !__isShared(address) && !__isLocal(address); }

inline size_t __cvta_generic_to_shared(const void* address) { return reinterpret_cast<size_t>(address); }
inline size_t __cvta_generic_to_global(const void* address) { return reinterpret_cast<size_t>(address); }
inline void* __cvta_shared_to_generic(size_t address) { return reinterpret_cast<void*>(address); }
inline void __prefetch_global_l1(const void*) {}
inline void __prefetch_global_l2(const void*) {}
