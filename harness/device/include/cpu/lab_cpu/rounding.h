// CUDA's operations that round down (rd), up (ru) or towards zero (rz). The host rounds to nearest. Each operation finds out on which
// side of its nearest number the exact result is, and takes the neighbour on that side where it has to.
#pragma once

enum class lab_cpu_to { down, up, zero };

// `near` is the nearest number, and `side` tells by its sign whether the exact result is above it, below it or equal.
template <class T>
inline T lab_cpu_rounded(T near, double side, lab_cpu_to to) {
    if (near != near || side == 0 || side != side) return near;
    const bool is_above = side > 0;
    const bool goes_up = to == lab_cpu_to::up || (to == lab_cpu_to::zero && signbit(near));
    if (goes_up != is_above) return near;
    return nextafter(near, goes_up ? T(__builtin_inf()) : -T(__builtin_inf()));
}
// What a sum of two numbers lost (Knuth, The Art of Computer Programming 2, 4.2.2, theorem B).
inline double lab_cpu_lost(double sum, double a, double b) {
    const double part = sum - a;
    return (a - (sum - part)) + (b - part);
}
// The side of a result near `near` of a finite operation. Beyond the largest number it is below infinity.
template <class T>
inline double lab_cpu_side(T near, double sum, double lost) {
    if (isinf(near)) return isinf(sum) && lost == 0 ? 0 : near > 0 ? -1 : 1;
    const double off = sum - double(near);
    const double both = off + lost;
    return both != 0 ? both : off != 0 ? off : lost;
}
inline bool lab_cpu_finite(double a, double b, double c = 0) { return isfinite(a) && isfinite(b) && isfinite(c); }

// a · b + c, of floats. The product is exact in double.
inline float lab_cpu_fma(float a, float b, float c, lab_cpu_to to) {
    const float near = fma(a, b, c);
    if (!lab_cpu_finite(a, b, c)) return near;
    const double product = double(a) * b, sum = product + c;
    // The sum of a number and its opposite is -0 where it is rounded down.
    if (sum == 0) return to == lab_cpu_to::down && (signbit(product) || signbit(c)) ? -0.0f : near;
    return lab_cpu_rounded(near, isinf(near) ? (near > 0 ? -1 : 1) : lab_cpu_side(near, sum, lab_cpu_lost(sum, product, c)), to);
}
// a · b + c. The nearest number may stay where the product itself is beyond the largest number, or what it loses is below the
// smallest one.
inline double lab_cpu_fma(double a, double b, double c, lab_cpu_to to) {
    const double near = fma(a, b, c);
    if (!lab_cpu_finite(a, b, c)) return near;
    if (isinf(near)) return lab_cpu_rounded(near, near > 0 ? -1 : 1, to);
    const double product = a * b, rest = fma(a, b, -product), sum = product + c;
    if (sum == 0 && rest == 0) {
        const bool is_opposite = product != 0 || c != 0 || signbit(product) != signbit(c) || signbit(c);
        return to == lab_cpu_to::down && is_opposite ? -0.0 : near;
    }
    const double lost = lab_cpu_lost(sum, product, c), off = sum - near;
    const double less = lab_cpu_lost(off, sum, -near), more = off + rest;
    return lab_cpu_rounded(near, more + (lab_cpu_lost(more, off, rest) + less + lost), to);
}
// The side is that of what the nearest quotient leaves, by the sign of the divisor.
template <class T>
inline T lab_cpu_divided(T a, T b, lab_cpu_to to) {
    const T near = a / b;
    if (!lab_cpu_finite(a, b) || b == 0) return near;
    if (isinf(near)) return lab_cpu_rounded(near, near > 0 ? -1 : 1, to);
    const double left = fma(-double(near), double(b), double(a));
    return lab_cpu_rounded(near, b < 0 ? -left : left, to);
}
template <class T>
inline T lab_cpu_root(T x, lab_cpu_to to) {
    const T near = sqrt(x);
    return isfinite(near) ? lab_cpu_rounded(near, fma(-double(near), double(near), double(x)), to) : near;
}
// An integer of up to 64 bits, as the sum of its halves.
template <class T, class From>
inline T lab_cpu_from(From x, lab_cpu_to to) {
    const auto wide = static_cast<lab_cpu_if<From(-1) < From(0), long long, unsigned long long>>(x);
    const double high = double(wide >> 32) * 4294967296.0, low = double(wide & 0xffffffff), sum = high + low;
    return lab_cpu_rounded(T(x), lab_cpu_side(T(x), sum, lab_cpu_lost(sum, high, low)), to);
}

#define LAB_CPU_ROUNDED(side, to)                                                                                       \
    inline float __fadd_##side(float a, float b) { return lab_cpu_fma(a, 1.0f, b, lab_cpu_to::to); }                    \
    inline float __fsub_##side(float a, float b) { return lab_cpu_fma(b, -1.0f, a, lab_cpu_to::to); }                   \
    inline float __fmul_##side(float a, float b) { return lab_cpu_fma(a, b, signbit(a) == signbit(b) ? 0.0f : -0.0f, lab_cpu_to::to); } \
    inline float __fdiv_##side(float a, float b) { return lab_cpu_divided(a, b, lab_cpu_to::to); }                      \
    inline float __fmaf_##side(float a, float b, float c) { return lab_cpu_fma(a, b, c, lab_cpu_to::to); }              \
    inline float __fmaf_ieee_##side(float a, float b, float c) { return lab_cpu_fma(a, b, c, lab_cpu_to::to); }         \
    inline float __frcp_##side(float x) { return lab_cpu_divided(1.0f, x, lab_cpu_to::to); }                            \
    inline float __fsqrt_##side(float x) { return lab_cpu_root(x, lab_cpu_to::to); }                                    \
    inline double __dadd_##side(double a, double b) { return lab_cpu_fma(a, 1.0, b, lab_cpu_to::to); }                  \
    inline double __dsub_##side(double a, double b) { return lab_cpu_fma(b, -1.0, a, lab_cpu_to::to); }                 \
    inline double __dmul_##side(double a, double b) { return lab_cpu_fma(a, b, signbit(a) == signbit(b) ? 0.0 : -0.0, lab_cpu_to::to); } \
    inline double __ddiv_##side(double a, double b) { return lab_cpu_divided(a, b, lab_cpu_to::to); }                   \
    inline double __fma_##side(double a, double b, double c) { return lab_cpu_fma(a, b, c, lab_cpu_to::to); }           \
    inline double __drcp_##side(double x) { return lab_cpu_divided(1.0, x, lab_cpu_to::to); }                           \
    inline double __dsqrt_##side(double x) { return lab_cpu_root(x, lab_cpu_to::to); }                                  \
    inline float __double2float_##side(double x) {                                                                     \
        return isfinite(x) ? lab_cpu_rounded(float(x), lab_cpu_side(float(x), x, 0), lab_cpu_to::to) : float(x);        \
    }                                                                                                                   \
    inline float __int2float_##side(int x) { return __double2float_##side(x); }                                         \
    inline float __uint2float_##side(unsigned x) { return __double2float_##side(x); }                                   \
    inline float __ll2float_##side(long long x) { return lab_cpu_from<float>(x, lab_cpu_to::to); }                      \
    inline float __ull2float_##side(unsigned long long x) { return lab_cpu_from<float>(x, lab_cpu_to::to); }            \
    inline double __ll2double_##side(long long x) { return lab_cpu_from<double>(x, lab_cpu_to::to); }                   \
    inline double __ull2double_##side(unsigned long long x) { return lab_cpu_from<double>(x, lab_cpu_to::to); }
LAB_CPU_ROUNDED(rd, down)
LAB_CPU_ROUNDED(ru, up)
LAB_CPU_ROUNDED(rz, zero)
#undef LAB_CPU_ROUNDED
