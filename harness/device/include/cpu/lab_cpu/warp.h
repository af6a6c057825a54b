// Warp intrinsics. The lanes in the mask wait for one another and exchange their values; then every lane computes its result.
#pragma once

inline const unsigned long long* lab_cpu_gather(unsigned mask, unsigned long long value, const char* what,
                                                lab_cpu_at at) {
    return lab_cpu_runtime->gather(lab_cpu_self, mask, value, what, at.file, at.line);
}

inline float lab_cpu_warp_sum(float value, unsigned mask = 0xffffffffu, lab_cpu_at at = lab_cpu_at::here()) {
    return lab_cpu_runtime->warp_sum(lab_cpu_self, mask, value, at.file, at.line);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, lab_cpu_at at = lab_cpu_at::here()) {
    lab_cpu_gather(mask, 0, "__syncwarp()", at);
}

inline unsigned __activemask(lab_cpu_at at = lab_cpu_at::here()) {
    return lab_cpu_runtime->active(lab_cpu_self, at.file, at.line);
}

inline unsigned lab_cpu_laneid() { return lab_cpu_self->lane; }

// The value of a lane that is outside the mask or has returned is undefined on a GPU. Here it is a NaN of every type.
constexpr unsigned long long lab_cpu_undefined = 0x7fff7fff7fff7fffull;

// A shuffle exchanges up to eight bytes at once; wider values go in pieces.
template <class T>
inline T lab_cpu_shuffle(unsigned mask, T value, unsigned source, const char* what, lab_cpu_at at) {
    static_assert(__is_trivially_copyable(T));
    T result = value;
    for (size_t done = 0; done < sizeof(T); done += 8) {
        const size_t size = sizeof(T) - done < 8 ? sizeof(T) - done : 8;
        unsigned long long bits = 0;
        __builtin_memcpy(&bits, reinterpret_cast<const char*>(&value) + done, size);
        const unsigned long long* all = lab_cpu_gather(mask, bits, what, at);
        bits = lab_cpu_self->participants >> source & 1 ? all[source] : lab_cpu_undefined;
        __builtin_memcpy(reinterpret_cast<char*>(&result) + done, &bits, size);
    }
    return result;
}

// What a shuffle of CUDA's own takes: numbers, and the small formats of half.h.
template <class T>
inline constexpr bool lab_cpu_is_shuffled = lab_cpu_is_arithmetic<T>;
#define LAB_CPU_SHUFFLED(T) static_assert(lab_cpu_is_shuffled<T>, "a shuffle takes numbers: shuffle the parts of a struct")

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, lab_cpu_at at = lab_cpu_at::here()) {
    LAB_CPU_SHUFFLED(T);
    const unsigned lane = lab_cpu_self->lane, segment = lane & ~unsigned(width - 1);
    return lab_cpu_shuffle(mask, value, segment | (unsigned(source) & unsigned(width - 1)), "__shfl_sync()", at);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, lab_cpu_at at = lab_cpu_at::here()) {
    LAB_CPU_SHUFFLED(T);
    const unsigned lane = lab_cpu_self->lane, segment = lane & ~unsigned(width - 1);
    const int source = int(lane) - int(delta);
    return lab_cpu_shuffle(mask, value, source < int(segment) ? lane : unsigned(source), "__shfl_up_sync()", at);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, lab_cpu_at at = lab_cpu_at::here()) {
    LAB_CPU_SHUFFLED(T);
    const unsigned lane = lab_cpu_self->lane, end = (lane | unsigned(width - 1)) + 1;
    const unsigned source = lane + delta;
    return lab_cpu_shuffle(mask, value, source >= end ? lane : source, "__shfl_down_sync()", at);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, lab_cpu_at at = lab_cpu_at::here()) {
    LAB_CPU_SHUFFLED(T);
    const unsigned lane = lab_cpu_self->lane, end = (lane | unsigned(width - 1)) + 1;
    const unsigned source = lane ^ unsigned(bits);
    return lab_cpu_shuffle(mask, value, source >= end ? lane : source & 31, "__shfl_xor_sync()", at);
}

#undef LAB_CPU_SHUFFLED

inline unsigned lab_cpu_ballot(unsigned mask, bool predicate, const char* what, lab_cpu_at at) {
    const unsigned long long* all = lab_cpu_gather(mask, predicate, what, at);
    unsigned result = 0;
    for (unsigned rest = lab_cpu_self->participants; rest; rest &= rest - 1) {
        const unsigned lane = unsigned(__builtin_ctz(rest));
        result |= unsigned(all[lane]) << lane;
    }
    return result;
}
inline unsigned __ballot_sync(unsigned mask, int predicate, lab_cpu_at at = lab_cpu_at::here()) {
    return lab_cpu_ballot(mask, predicate != 0, "__ballot_sync()", at);
}
inline int __any_sync(unsigned mask, int predicate, lab_cpu_at at = lab_cpu_at::here()) {
    return lab_cpu_ballot(mask, predicate != 0, "__any_sync()", at) != 0;
}
inline int __all_sync(unsigned mask, int predicate, lab_cpu_at at = lab_cpu_at::here()) {
    const unsigned yes = lab_cpu_ballot(mask, predicate != 0, "__all_sync()", at);
    return yes == lab_cpu_self->participants;
}
inline int __uni_sync(unsigned mask, int predicate, lab_cpu_at at = lab_cpu_at::here()) {
    const unsigned yes = lab_cpu_ballot(mask, predicate != 0, "__uni_sync()", at);
    return yes == 0 || yes == lab_cpu_self->participants;
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, lab_cpu_at at = lab_cpu_at::here()) {
    static_assert(sizeof(T) <= 8);
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    const unsigned long long* all = lab_cpu_gather(mask, bits, "__match_any_sync()", at);
    unsigned result = 0;
    for (unsigned rest = lab_cpu_self->participants; rest; rest &= rest - 1) {
        const unsigned lane = unsigned(__builtin_ctz(rest));
        result |= unsigned(all[lane] == bits) << lane;
    }
    return result;
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* same, lab_cpu_at at = lab_cpu_at::here()) {
    const unsigned equal = __match_any_sync(mask, value, at);
    *same = equal == lab_cpu_self->participants;
    return *same ? equal : 0;
}

// Combines the values of the participating lanes in lane order.
template <class T, class Op>
inline T lab_cpu_reduce(unsigned mask, T value, Op op, const char* what, lab_cpu_at at) {
    static_assert(sizeof(T) <= 8);
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    const unsigned long long* all = lab_cpu_gather(mask, bits, what, at);
    unsigned rest = lab_cpu_self->participants;
    T result;
    __builtin_memcpy(&result, &all[__builtin_ctz(rest)], sizeof(T));
    for (rest &= rest - 1; rest; rest &= rest - 1) {
        T next;
        __builtin_memcpy(&next, &all[__builtin_ctz(rest)], sizeof(T));
        result = op(result, next);
    }
    return result;
}

#define LAB_CPU_REDUCE(name, type, expression)                                                    \
    inline type name(unsigned mask, type value, lab_cpu_at at = lab_cpu_at::here()) {             \
        return lab_cpu_reduce(mask, value, [](type a, type b) { return type(expression); }, #name "()", at); \
    }
LAB_CPU_REDUCE(__reduce_add_sync, unsigned, a + b)
LAB_CPU_REDUCE(__reduce_add_sync, int, unsigned(a) + unsigned(b))
LAB_CPU_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
LAB_CPU_REDUCE(__reduce_min_sync, int, a < b ? a : b)
LAB_CPU_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
LAB_CPU_REDUCE(__reduce_max_sync, int, a > b ? a : b)
LAB_CPU_REDUCE(__reduce_and_sync, unsigned, a & b)
LAB_CPU_REDUCE(__reduce_or_sync, unsigned, a | b)
LAB_CPU_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef LAB_CPU_REDUCE
