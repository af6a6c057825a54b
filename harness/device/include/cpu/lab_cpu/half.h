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
    F(hexp, exp(float(a)))                                                 \
    F(hexp2, exp2(float(a)))                                               \
    F(hexp10, float(pow(10.0, double(float(a)))))                          \
    F(hlog, log(float(a)))                                                 \
    F(hlog2, log2(float(a)))                                               \
    F(hlog10, log10(float(a)))                                             \
    F(hsqrt, sqrt(float(a)))                                               \
    F(hrsqrt, 1.0 / sqrt(double(float(a))))                                \
    F(hrcp, 1.0 / double(float(a)))                                        \
    F(hsin, sin(float(a)))                                                 \
    F(hcos, cos(float(a)))                                                 \
    F(htanh, tanh(float(a)))                                               \
    F(hfloor, floor(float(a)))                                             \
    F(hceil, ceil(float(a)))                                               \
    F(htrunc, trunc(float(a)))                                             \
    F(hrint, nearbyint(float(a)))

#define LAB_CPU_SMALL_COMPARISONS(F)                                                     \
    F(__heq, __heq2, __hbeq2, ==) F(__hne, __hne2, __hbne2, !=) F(__hlt, __hlt2, __hblt2, <)      \
    F(__hle, __hle2, __hble2, <=) F(__hgt, __hgt2, __hbgt2, >) F(__hge, __hge2, __hbge2, >=)

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

#define LAB_CPU_COMPARISON(name, pair, both, op)                              \
    friend bool operator op(T a, T b) { return float(a) op float(b); }        \
    friend bool name(T a, T b) { return float(a) op float(b); }
    LAB_CPU_SMALL_COMPARISONS(LAB_CPU_COMPARISON)
#undef LAB_CPU_COMPARISON
#define LAB_CPU_FUNCTION(name, expression) \
    friend T name(T a) { return expression; }
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
    friend bool operator==(P a, P b) { return a.x == b.x && a.y == b.y; }
    friend bool operator!=(P a, P b) { return a.x != b.x && a.y != b.y; }

    friend P __hadd2(P a, P b) { return a + b; }
    friend P __hsub2(P a, P b) { return a - b; }
    friend P __hmul2(P a, P b) { return a * b; }
    friend P __h2div(P a, P b) { return a / b; }
    friend P __hadd2_rn(P a, P b) { return a + b; }
    friend P __hsub2_rn(P a, P b) { return a - b; }
    friend P __hmul2_rn(P a, P b) { return a * b; }
    friend P __hadd2_sat(P a, P b) { return {__hadd_sat(a.x, b.x), __hadd_sat(a.y, b.y)}; }
    friend P __hmul2_sat(P a, P b) { return {__hmul_sat(a.x, b.x), __hmul_sat(a.y, b.y)}; }
    friend P __hfma2(P a, P b, P c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
    friend P __hfma2_relu(P a, P b, P c) { return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)}; }
    friend P __hneg2(P a) { return -a; }
    friend P __habs2(P a) { return {__habs(a.x), __habs(a.y)}; }
    friend P __hmin2(P a, P b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
    friend P __hmax2(P a, P b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
    friend P __hisnan2(P a) { return {T(float(__hisnan(a.x))), T(float(__hisnan(a.y)))}; }
    friend float __low2float(P a) { return a.x; }
    friend float __high2float(P a) { return a.y; }
    friend P __lowhigh2highlow(P a) { return {a.y, a.x}; }

#define LAB_CPU_COMPARISON(name, pair, both, op)                                                 \
    friend P pair(P a, P b) { return {T(name(a.x, b.x) ? 1.0f : 0.0f), T(name(a.y, b.y) ? 1.0f : 0.0f)}; } \
    friend bool both(P a, P b) { return name(a.x, b.x) && name(a.y, b.y); }
    LAB_CPU_SMALL_COMPARISONS(LAB_CPU_COMPARISON)
#undef LAB_CPU_COMPARISON
    friend P h2exp(P a) { return {hexp(a.x), hexp(a.y)}; }
    friend P h2exp2(P a) { return {hexp2(a.x), hexp2(a.y)}; }
    friend P h2log(P a) { return {hlog(a.x), hlog(a.y)}; }
    friend P h2log2(P a) { return {hlog2(a.x), hlog2(a.y)}; }
    friend P h2sqrt(P a) { return {hsqrt(a.x), hsqrt(a.y)}; }
    friend P h2rsqrt(P a) { return {hrsqrt(a.x), hrsqrt(a.y)}; }
    friend P h2rcp(P a) { return {hrcp(a.x), hrcp(a.y)}; }
    friend P h2sin(P a) { return {hsin(a.x), hsin(a.y)}; }
    friend P h2cos(P a) { return {hcos(a.x), hcos(a.y)}; }
    friend P h2tanh(P a) { return {htanh(a.x), htanh(a.y)}; }
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
    inline T __int2##one##_rn(int x) { return x; }                                           \
    inline T __uint2##one##_rn(unsigned x) { return x; }                                     \
    inline T __short2##one##_rn(short x) { return int(x); }                                  \
    inline T __ushort2##one##_rn(unsigned short x) { return int(x); }                        \
    inline T __ll2##one##_rn(long long x) { return x; }                                      \
    inline int __##one##2int_rn(T x) { return __float2int_rn(x); }                           \
    inline int __##one##2int_rz(T x) { return __float2int_rz(x); }                           \
    inline int __##one##2int_rd(T x) { return __float2int_rd(x); }                           \
    inline int __##one##2int_ru(T x) { return __float2int_ru(x); }                           \
    inline unsigned __##one##2uint_rn(T x) { return __float2uint_rn(x); }                    \
    inline unsigned __##one##2uint_rz(T x) { return __float2uint_rz(x); }                    \
    inline T atomicAdd(T* address, T value) {                                                \
        return lab_cpu_atomic(address, [=](T x) { return __hadd(x, value); });               \
    }                                                                                        \
    inline P atomicAdd(P* address, P value) {                                                \
        return lab_cpu_atomic(address, [=](P x) { return __hadd2(x, value); });              \
    }
LAB_CPU_NAMES(__half, __half2, half, half2)
LAB_CPU_NAMES(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)
#undef LAB_CPU_NAMES

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
