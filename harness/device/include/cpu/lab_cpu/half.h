// __half and __nv_bfloat16, single and in pairs. Each operation is computed in float or double and rounded once, to nearest even.
#pragma once

// Rounds to a format with an exponent of `exponent` bits and a mantissa of `mantissa` bits.
template <int exponent, int mantissa>
inline unsigned short lab_cpu_round(double x) {
    constexpr int bias = (1 << (exponent - 1)) - 1;
    constexpr unsigned infinity = ((1u << exponent) - 1) << mantissa;
    const auto bits = lab_cpu_bits<unsigned long long>(x);
    const unsigned sign = unsigned(bits >> 63) << 15;
    const int e = int(bits >> 52 & 0x7ff) - 1023;
    const unsigned long long fraction = bits & ((1ull << 52) - 1);
    if (e == 1024) return (unsigned short)(fraction ? 0x7fff : sign | infinity);
    // Below the smallest normal number the last place does not move.
    const int lost = 52 - mantissa + (e < 1 - bias ? 1 - bias - e : 0);
    if (lost > 54) return (unsigned short)sign;
    const unsigned long long whole = fraction | 1ull << 52;
    unsigned long long kept = whole >> lost;
    const unsigned long long rest = whole & ((1ull << lost) - 1), tie = 1ull << (lost - 1);
    kept += rest > tie || (rest == tie && (kept & 1));
    // A carry out of the mantissa correctly goes into the exponent.
    unsigned result = unsigned(kept);
    if (e >= 1 - bias) {
        if (e > bias) return (unsigned short)(sign | infinity);
        result += unsigned(e + bias - 1) << mantissa;
    }
    return (unsigned short)(sign | (result < infinity ? result : infinity));
}

// Returns a * b + c in double, rounded to odd. A later rounding to a narrower format is then correct.
inline double lab_cpu_fma_to_odd(double a, double b, double c) {
    const double product = a * b, sum = product + c;
    if (!isfinite(sum)) return sum;
    const double back = sum - product, error = (product - (sum - back)) + (c - back);
    auto bits = lab_cpu_bits<unsigned long long>(sum);
    if (error != 0 && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : -1ull;
    return lab_cpu_bits<double>(bits);
}

#ifdef __F16C__
// <immintrin.h> would be most of the precompiled header, so it is not included.
typedef short lab_cpu_v8hi __attribute__((vector_size(16)));
typedef float lab_cpu_v4sf __attribute__((vector_size(16)));
#endif

struct lab_cpu_f16 {
    static unsigned short from(double x) { return lab_cpu_round<5, 10>(x); }
    static unsigned short from(float x) {
#ifdef __F16C__
        return (unsigned short)__builtin_ia32_vcvtps2ph(lab_cpu_v4sf{x, 0, 0, 0}, 0)[0];
#else
        return from(double(x));
#endif
    }
    static float to(unsigned short x) {
#ifdef __F16C__
        return __builtin_ia32_vcvtph2ps(lab_cpu_v8hi{short(x), 0, 0, 0, 0, 0, 0, 0})[0];
#else
        const unsigned sign = unsigned(x & 0x8000) << 16, rest = x & 0x7fff;
        if (rest >= 0x7c00) return lab_cpu_bits<float>(sign | 0x7f800000u | (rest & 0x3ff) << 13);
        if (rest >= 0x0400) return lab_cpu_bits<float>(sign | ((rest << 13) + (112u << 23)));
        const float small = float(rest) * 0x1p-24f;
        return sign ? -small : small;
#endif
    }
};

struct lab_cpu_bf16 {
    static unsigned short from(double x) { return lab_cpu_round<8, 7>(x); }
    static unsigned short from(float x) {
        const unsigned bits = lab_cpu_bits<unsigned>(x);
        if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
        return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
    }
    static float to(unsigned short x) { return lab_cpu_bits<float>(unsigned(x) << 16); }
};

// Shared by the one-argument functions of both formats.
#define LAB_CPU_SMALL_FUNCTIONS(F)                                         \
    F(exp, exp(float(a)))                                                 \
    F(exp2, exp2(float(a)))                                               \
    F(exp10, float(pow(10.0, double(float(a)))))                          \
    F(log, log(float(a)))                                                 \
    F(log2, log2(float(a)))                                               \
    F(log10, log10(float(a)))                                             \
    F(sqrt, sqrt(float(a)))                                               \
    F(rsqrt, 1.0 / sqrt(double(float(a))))                                \
    F(rcp, 1.0 / double(float(a)))                                        \
    F(sin, sin(float(a)))                                                 \
    F(cos, cos(float(a)))                                                 \
    F(tanh, tanh(float(a)))                                               \
    F(tanh_approx, tanh(float(a)))                                        \
    F(floor, floor(float(a)))                                             \
    F(ceil, ceil(float(a)))                                               \
    F(trunc, trunc(float(a)))                                             \
    F(rint, nearbyint(float(a)))

#define LAB_CPU_SMALL_COMPARISONS(F) F(eq, ==) F(ne, !=) F(lt, <) F(le, <=) F(gt, >) F(ge, >=)

template <class Format>
struct lab_cpu_small {
    using T = lab_cpu_small;
    unsigned short __x;

    lab_cpu_small() = default;
    lab_cpu_small(float x) : __x(Format::from(x)) {}
    lab_cpu_small(double x) : __x(Format::from(x)) {}
    lab_cpu_small(int x) : __x(Format::from(double(x))) {}
    lab_cpu_small(unsigned x) : __x(Format::from(double(x))) {}
    lab_cpu_small(long x) : __x(Format::from(double(x))) {}
    lab_cpu_small(unsigned long x) : __x(Format::from(double(x))) {}
    lab_cpu_small(long long x) : __x(Format::from(double(x))) {}
    lab_cpu_small(unsigned long long x) : __x(Format::from(double(x))) {}
    static T of(unsigned short bits) {
        T result;
        result.__x = bits;
        return result;
    }
    operator float() const { return Format::to(__x); }
    explicit operator bool() const { return (__x & 0x7fff) != 0; }

    friend T operator+(T a, T b) { return float(a) + float(b); }
    friend T operator-(T a, T b) { return float(a) - float(b); }
    friend T operator*(T a, T b) { return float(a) * float(b); }
    friend T operator/(T a, T b) { return float(a) / float(b); }
    friend T operator+(T a) { return a; }
    friend T operator-(T a) { return of(a.__x ^ 0x8000); }
    T& operator+=(T b) { return *this = *this + b; }
    T& operator-=(T b) { return *this = *this - b; }
    T& operator*=(T b) { return *this = *this * b; }
    T& operator/=(T b) { return *this = *this / b; }
    T& operator++() { return *this += T(1); }
    T& operator--() { return *this -= T(1); }

    friend T __hadd(T a, T b) { return a + b; }
    friend T __hsub(T a, T b) { return a - b; }
    friend T __hmul(T a, T b) { return a * b; }
    friend T __hdiv(T a, T b) { return a / b; }
    friend T __hadd_rn(T a, T b) { return a + b; }
    friend T __hsub_rn(T a, T b) { return a - b; }
    friend T __hmul_rn(T a, T b) { return a * b; }
    friend T __hadd_sat(T a, T b) { return __saturatef(a + b); }
    friend T __hsub_sat(T a, T b) { return __saturatef(a - b); }
    friend T __hmul_sat(T a, T b) { return __saturatef(a * b); }
    friend T __hfma(T a, T b, T c) { return lab_cpu_fma_to_odd(float(a), float(b), float(c)); }
    friend T __hfma_sat(T a, T b, T c) { return __saturatef(__hfma(a, b, c)); }
    friend T __hfma_relu(T a, T b, T c) { return __hmax(__hfma(a, b, c), of(0)); }
    friend T __hneg(T a) { return -a; }
    friend T __habs(T a) { return of(a.__x & 0x7fff); }
    friend bool __hisnan(T a) { return isnan(float(a)); }
    friend int __hisinf(T a) { return isinf(float(a)) ? (a.__x & 0x8000 ? -1 : 1) : 0; }
    // Of a number and a NaN, the result is the number.
    friend T __hmin(T a, T b) { return fmin(float(a), float(b)); }
    friend T __hmax(T a, T b) { return fmax(float(a), float(b)); }
    friend T __hmin_nan(T a, T b) { return __hisnan(a) || __hisnan(b) ? of(0x7fff) : __hmin(a, b); }
    friend T __hmax_nan(T a, T b) { return __hisnan(a) || __hisnan(b) ? of(0x7fff) : __hmax(a, b); }

// A comparison with a NaN is false, and true under the names with a u.
#define LAB_CPU_COMPARISON(name, op)                                                                            \
    friend bool operator op(T a, T b) { return float(a) op float(b); }                                          \
    friend bool __h##name(T a, T b) { return float(a) op float(b) && !__hisnan(a) && !__hisnan(b); }            \
    friend bool __h##name##u(T a, T b) { return float(a) op float(b) || __hisnan(a) || __hisnan(b); }
    LAB_CPU_SMALL_COMPARISONS(LAB_CPU_COMPARISON)
#undef LAB_CPU_COMPARISON
#define LAB_CPU_FUNCTION(name, expression) \
    friend T h##name(T a) { return expression; }
    LAB_CPU_SMALL_FUNCTIONS(LAB_CPU_FUNCTION)
#undef LAB_CPU_FUNCTION
};

template <class Format>
struct alignas(4) lab_cpu_small2 {
    using T = lab_cpu_small<Format>;
    using P = lab_cpu_small2;
    T x, y;

    lab_cpu_small2() = default;
    lab_cpu_small2(T x, T y) : x(x), y(y) {}

    friend P operator+(P a, P b) { return {a.x + b.x, a.y + b.y}; }
    friend P operator-(P a, P b) { return {a.x - b.x, a.y - b.y}; }
    friend P operator*(P a, P b) { return {a.x * b.x, a.y * b.y}; }
    friend P operator/(P a, P b) { return {a.x / b.x, a.y / b.y}; }
    friend P operator-(P a) { return {-a.x, -a.y}; }
    P& operator+=(P b) { return *this = *this + b; }
    P& operator-=(P b) { return *this = *this - b; }
    P& operator*=(P b) { return *this = *this * b; }
    P& operator/=(P b) { return *this = *this / b; }

    friend P __hadd2(P a, P b) { return a + b; }
    friend P __hsub2(P a, P b) { return a - b; }
    friend P __hmul2(P a, P b) { return a * b; }
    friend P __h2div(P a, P b) { return a / b; }
    friend P __hadd2_rn(P a, P b) { return a + b; }
    friend P __hsub2_rn(P a, P b) { return a - b; }
    friend P __hmul2_rn(P a, P b) { return a * b; }
    friend P __hadd2_sat(P a, P b) { return {__hadd_sat(a.x, b.x), __hadd_sat(a.y, b.y)}; }
    friend P __hsub2_sat(P a, P b) { return {__hsub_sat(a.x, b.x), __hsub_sat(a.y, b.y)}; }
    friend P __hmul2_sat(P a, P b) { return {__hmul_sat(a.x, b.x), __hmul_sat(a.y, b.y)}; }
    friend P __hfma2(P a, P b, P c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
    friend P __hfma2_relu(P a, P b, P c) { return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)}; }
    friend P __hfma2_sat(P a, P b, P c) { return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)}; }
    // Of complex numbers, as CUDA's header computes it.
    friend P __hcmadd(P a, P b, P c) {
        return {__hfma(-a.y, b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};
    }
    friend P __hneg2(P a) { return -a; }
    friend P __habs2(P a) { return {__habs(a.x), __habs(a.y)}; }
    friend P __hmin2(P a, P b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
    friend P __hmax2(P a, P b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
    friend P __hmin2_nan(P a, P b) { return {__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)}; }
    friend P __hmax2_nan(P a, P b) { return {__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)}; }
    friend P __hisnan2(P a) { return {T(float(__hisnan(a.x))), T(float(__hisnan(a.y)))}; }
    friend float __low2float(P a) { return a.x; }
    friend float __high2float(P a) { return a.y; }
    friend P __lowhigh2highlow(P a) { return {a.y, a.x}; }

#define LAB_CPU_COMPARISON(name, op)                                                                            \
    friend bool operator op(P a, P b) { return a.x op b.x && a.y op b.y; }                                      \
    LAB_CPU_COMPARED(__h##name, __h##name##2, __hb##name##2, __h##name##2_mask)                                 \
    LAB_CPU_COMPARED(__h##name##u, __h##name##u2, __hb##name##u2, __h##name##u2_mask)
#define LAB_CPU_COMPARED(name, pair, both, mask)                                                                \
    friend P pair(P a, P b) { return {T(name(a.x, b.x) ? 1.0f : 0.0f), T(name(a.y, b.y) ? 1.0f : 0.0f)}; }      \
    friend bool both(P a, P b) { return name(a.x, b.x) && name(a.y, b.y); }                                     \
    friend unsigned mask(P a, P b) { return (name(a.x, b.x) ? 0xffffu : 0) | (name(a.y, b.y) ? 0xffff0000u : 0); }
    LAB_CPU_SMALL_COMPARISONS(LAB_CPU_COMPARISON)
#undef LAB_CPU_COMPARED
#undef LAB_CPU_COMPARISON
#define LAB_CPU_FUNCTION(name, expression) \
    friend P h2##name(P a) { return {h##name(a.x), h##name(a.y)}; }
    LAB_CPU_SMALL_FUNCTIONS(LAB_CPU_FUNCTION)
#undef LAB_CPU_FUNCTION
};

template <class Format>
inline constexpr bool lab_cpu_is_shuffled<lab_cpu_small<Format>> = true;
template <class Format>
inline constexpr bool lab_cpu_is_shuffled<lab_cpu_small2<Format>> = true;

using __half = lab_cpu_small<lab_cpu_f16>;
using __half2 = lab_cpu_small2<lab_cpu_f16>;
using half = __half;
using half2 = __half2;
using __nv_bfloat16 = lab_cpu_small<lab_cpu_bf16>;
using __nv_bfloat162 = lab_cpu_small2<lab_cpu_bf16>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

struct __half_raw {
    unsigned short x;
    operator __half() const { return __half::of(x); }
};
struct __nv_bfloat16_raw {
    unsigned short x;
    operator __nv_bfloat16() const { return __nv_bfloat16::of(x); }
};
struct __half2_raw {
    unsigned short x, y;
    operator __half2() const { return {__half::of(x), __half::of(y)}; }
};
struct __nv_bfloat162_raw {
    unsigned short x, y;
    operator __nv_bfloat162() const { return {__nv_bfloat16::of(x), __nv_bfloat16::of(y)}; }
};

// A number, as the neighbour on one side in a format of 16 bits.
template <class T>
inline T lab_cpu_small_to(double exact, lab_cpu_to to) {
    const T near = exact;
    const double off = exact - double(float(near));
    const bool is_below = near.__x >> 15, goes_up = to == lab_cpu_to::up || (to == lab_cpu_to::zero && is_below);
    if (off != off || off == 0 || goes_up != (off > 0)) return near;
    if (!(near.__x & 0x7fff)) return T::of(goes_up ? 1 : 0x8001);
    return T::of((unsigned short)(near.__x + (goes_up == is_below ? -1 : 1)));
}
// An integer as a double, rounded to odd: a later rounding to a narrower format is then correct.
template <class Integer>
inline double lab_cpu_to_odd(Integer x) {
    const double near = lab_cpu_from<double>(x, lab_cpu_to::zero);
    return Integer(near) == x ? near : lab_cpu_bits<double>(lab_cpu_bits<unsigned long long>(near) | 1);
}
#define LAB_CPU_TO_SIDES(T, name, From)                                                      \
    inline T name##_rd(From x) { return lab_cpu_small_to<T>(x, lab_cpu_to::down); }          \
    inline T name##_ru(From x) { return lab_cpu_small_to<T>(x, lab_cpu_to::up); }            \
    inline T name##_rz(From x) { return lab_cpu_small_to<T>(x, lab_cpu_to::zero); }
#define LAB_CPU_CONVERTED(T, one, name, Integer)                                                        \
    inline T __##name##2##one##_rn(Integer x) { return lab_cpu_to_odd(x); }                  \
    inline T __##name##2##one##_rd(Integer x) { return lab_cpu_small_to<T>(lab_cpu_to_odd(x), lab_cpu_to::down); } \
    inline T __##name##2##one##_ru(Integer x) { return lab_cpu_small_to<T>(lab_cpu_to_odd(x), lab_cpu_to::up); }   \
    inline T __##name##2##one##_rz(Integer x) { return lab_cpu_small_to<T>(lab_cpu_to_odd(x), lab_cpu_to::zero); } \
    inline Integer __##one##2##name##_rn(T x) { return lab_cpu_saturate<Integer>(nearbyint(float(x))); } \
    inline Integer __##one##2##name##_rd(T x) { return lab_cpu_saturate<Integer>(floor(float(x))); }    \
    inline Integer __##one##2##name##_ru(T x) { return lab_cpu_saturate<Integer>(ceil(float(x))); }     \
    inline Integer __##one##2##name##_rz(T x) { return lab_cpu_saturate<Integer>(trunc(float(x))); }

// These functions under the names of each format: `half` and `half2`, or `bfloat16` and `bfloat162`.
#define LAB_CPU_NAMES(T, P, one, pair)                                                       \
    inline T __float2##one(float x) { return x; }                                            \
    inline T __float2##one##_rn(float x) { return x; }                                       \
    inline T __double2##one(double x) { return x; }                                          \
    inline float __##one##2float(T x) { return x; }                                          \
    inline P __float2##pair##_rn(float x) { return {x, x}; }                                 \
    inline P __floats2##pair##_rn(float x, float y) { return {x, y}; }                       \
    inline P __float22##pair##_rn(float2 v) { return {v.x, v.y}; }                           \
    inline float2 __##pair##2float2(P v) { return {float(v.x), float(v.y)}; }                \
    inline P __##one##2##pair(T x) { return {x, x}; }                                        \
    inline P __halves2##pair(T x, T y) { return {x, y}; }                                    \
    inline P make_##pair(T x, T y) { return {x, y}; }                                        \
    inline T __low2##one(P v) { return v.x; }                                                \
    inline T __high2##one(P v) { return v.y; }                                               \
    inline P __low2##pair(P v) { return {v.x, v.x}; }                                        \
    inline P __high2##pair(P v) { return {v.y, v.y}; }                                       \
    inline P __lows2##pair(P a, P b) { return {a.x, b.x}; }                                  \
    inline P __highs2##pair(P a, P b) { return {a.y, b.y}; }                                 \
    inline unsigned short __##one##_as_ushort(T x) { return x.__x; }                         \
    inline short __##one##_as_short(T x) { return short(x.__x); }                            \
    inline T __ushort_as_##one(unsigned short x) { return T::of(x); }                        \
    inline T __short_as_##one(short x) { return T::of((unsigned short)x); }                  \
    LAB_CPU_CONVERTED(T, one, int, int)                                                      \
    LAB_CPU_CONVERTED(T, one, uint, unsigned)                                                \
    LAB_CPU_CONVERTED(T, one, short, short)                                                  \
    LAB_CPU_CONVERTED(T, one, ushort, unsigned short)                                        \
    LAB_CPU_CONVERTED(T, one, ll, long long)                                                 \
    LAB_CPU_CONVERTED(T, one, ull, unsigned long long)                                       \
    inline signed char __##one##2char_rz(T x) { return lab_cpu_saturate<signed char>(trunc(float(x))); } \
    inline unsigned char __##one##2uchar_rz(T x) { return lab_cpu_saturate<unsigned char>(trunc(float(x))); } \
    LAB_CPU_TO_SIDES(T, __float2##one, float)                                                \
    inline T atomicAdd(T* address, T value) {                                                \
        return lab_cpu_atomic(address, [=](T x) { return __hadd(x, value); });               \
    }                                                                                        \
    inline P atomicAdd(P* address, P value) {                                                \
        return lab_cpu_atomic(address, [=](P x) { return __hadd2(x, value); });              \
    }
LAB_CPU_NAMES(__half, __half2, half, half2)
LAB_CPU_NAMES(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)
#undef LAB_CPU_NAMES
#undef LAB_CPU_CONVERTED
#undef LAB_CPU_TO_SIDES

// Infinities and NaNs under the names of CUDA's headers.
#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7fff)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3c00)
#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7fff)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3f80)

#undef LAB_CPU_SMALL_FUNCTIONS
#undef LAB_CPU_SMALL_COMPARISONS
