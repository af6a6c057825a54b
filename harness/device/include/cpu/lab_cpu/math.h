// CUDA's arithmetic functions and intrinsics beyond <cmath>. The fast approximations call the accurate functions.
#pragma once

// The names that CUDA has built in are those of the C library. Each function without the letter f is a pair of templates, so
// an argument of an integer type is ambiguous, as it is to NVRTC, and a kernel may define a function of its own with that name,
// which the compiler then prefers.
#ifndef LAB_CPU_HOST
#define LAB_CPU_OVERLOAD template <int = 0> inline

#define LAB_CPU_FUNCTION(name)                                              \
    extern "C" float name##f(float);                                        \
    LAB_CPU_OVERLOAD float name(float x) { return __builtin_##name##f(x); } \
    LAB_CPU_OVERLOAD double name(double x) { return __builtin_##name(x); }
LAB_CPU_FUNCTION(sqrt)
LAB_CPU_FUNCTION(cbrt)
LAB_CPU_FUNCTION(exp)
LAB_CPU_FUNCTION(exp2)
LAB_CPU_FUNCTION(expm1)
LAB_CPU_FUNCTION(log)
LAB_CPU_FUNCTION(log2)
LAB_CPU_FUNCTION(log10)
LAB_CPU_FUNCTION(log1p)
LAB_CPU_FUNCTION(logb)
LAB_CPU_FUNCTION(sin)
LAB_CPU_FUNCTION(cos)
LAB_CPU_FUNCTION(tan)
LAB_CPU_FUNCTION(asin)
LAB_CPU_FUNCTION(acos)
LAB_CPU_FUNCTION(atan)
LAB_CPU_FUNCTION(sinh)
LAB_CPU_FUNCTION(cosh)
LAB_CPU_FUNCTION(tanh)
LAB_CPU_FUNCTION(asinh)
LAB_CPU_FUNCTION(acosh)
LAB_CPU_FUNCTION(atanh)
LAB_CPU_FUNCTION(erf)
LAB_CPU_FUNCTION(erfc)
LAB_CPU_FUNCTION(tgamma)
LAB_CPU_FUNCTION(lgamma)
LAB_CPU_FUNCTION(floor)
LAB_CPU_FUNCTION(ceil)
LAB_CPU_FUNCTION(trunc)
LAB_CPU_FUNCTION(round)
LAB_CPU_FUNCTION(rint)
LAB_CPU_FUNCTION(nearbyint)
LAB_CPU_FUNCTION(fabs)
LAB_CPU_FUNCTION(j0)
LAB_CPU_FUNCTION(j1)
LAB_CPU_FUNCTION(y0)
LAB_CPU_FUNCTION(y1)
#undef LAB_CPU_FUNCTION

#define LAB_CPU_FUNCTION_OF_TWO(name)                                                          \
    extern "C" float name##f(float, float);                                                    \
    LAB_CPU_OVERLOAD float name(float x, float y) { return __builtin_##name##f(x, y); }        \
    LAB_CPU_OVERLOAD double name(double x, double y) { return __builtin_##name(x, y); }
LAB_CPU_FUNCTION_OF_TWO(pow)
LAB_CPU_FUNCTION_OF_TWO(atan2)
LAB_CPU_FUNCTION_OF_TWO(fmod)
LAB_CPU_FUNCTION_OF_TWO(remainder)
LAB_CPU_FUNCTION_OF_TWO(hypot)
LAB_CPU_FUNCTION_OF_TWO(copysign)
LAB_CPU_FUNCTION_OF_TWO(nextafter)
LAB_CPU_FUNCTION_OF_TWO(fdim)
LAB_CPU_FUNCTION_OF_TWO(fmin)
LAB_CPU_FUNCTION_OF_TWO(fmax)
#undef LAB_CPU_FUNCTION_OF_TWO

// A function with another result.
#define LAB_CPU_FUNCTION_TO(result, name)                                    \
    extern "C" result name##f(float);                                        \
    LAB_CPU_OVERLOAD result name(float x) { return __builtin_##name##f(x); } \
    LAB_CPU_OVERLOAD result name(double x) { return __builtin_##name(x); }
LAB_CPU_FUNCTION_TO(int, ilogb)
LAB_CPU_FUNCTION_TO(long, lround)
LAB_CPU_FUNCTION_TO(long, lrint)
LAB_CPU_FUNCTION_TO(long long, llround)
LAB_CPU_FUNCTION_TO(long long, llrint)
#undef LAB_CPU_FUNCTION_TO

// A function whose second argument has a type of its own.
#define LAB_CPU_FUNCTION_WITH(name, Second)                                                  \
    extern "C" float name##f(float, Second);                                                 \
    LAB_CPU_OVERLOAD float name(float x, Second n) { return __builtin_##name##f(x, n); }     \
    LAB_CPU_OVERLOAD double name(double x, Second n) { return __builtin_##name(x, n); }
LAB_CPU_FUNCTION_WITH(ldexp, int)
LAB_CPU_FUNCTION_WITH(scalbn, int)
LAB_CPU_FUNCTION_WITH(scalbln, long)
#undef LAB_CPU_FUNCTION_WITH

extern "C" {
float fmaf(float x, float y, float z);
float nanf(const char*);
float jnf(int n, float x);
float ynf(int n, float x);
double nan(const char*);
double jn(int n, double x);
double yn(int n, double x);
int abs(int x);
long labs(long x);
long long llabs(long long x);
}
LAB_CPU_OVERLOAD double copysign(float x, double y) { return __builtin_copysign(x, y); }
LAB_CPU_OVERLOAD double copysign(double x, float y) { return __builtin_copysign(x, y); }
LAB_CPU_OVERLOAD float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
LAB_CPU_OVERLOAD double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
LAB_CPU_OVERLOAD float pow(float x, int n) { return float(__builtin_powi(double(x), n)); }
LAB_CPU_OVERLOAD double pow(double x, int n) { return __builtin_powi(x, n); }
LAB_CPU_OVERLOAD long abs(long x) { return x < 0 ? -x : x; }
LAB_CPU_OVERLOAD long long abs(long long x) { return x < 0 ? -x : x; }
LAB_CPU_OVERLOAD float abs(float x) { return __builtin_fabsf(x); }
LAB_CPU_OVERLOAD double abs(double x) { return __builtin_fabs(x); }

// Functions with a second result. The C library would store it where the race detector does not look.
#define LAB_CPU_SECOND(Number, name, Second, call, ...)                 \
    LAB_CPU_OVERLOAD Number name(__VA_ARGS__, Second* second) {         \
        Second found;                                                   \
        const Number first = call;                                      \
        *second = found;                                                \
        return first;                                                   \
    }
LAB_CPU_SECOND(float, frexpf, int, __builtin_frexpf(x, &found), float x)
LAB_CPU_SECOND(float, frexp, int, __builtin_frexpf(x, &found), float x)
LAB_CPU_SECOND(double, frexp, int, __builtin_frexp(x, &found), double x)
LAB_CPU_SECOND(float, modff, float, __builtin_modff(x, &found), float x)
LAB_CPU_SECOND(float, modf, float, __builtin_modff(x, &found), float x)
LAB_CPU_SECOND(double, modf, double, __builtin_modf(x, &found), double x)
LAB_CPU_SECOND(float, remquof, int, __builtin_remquof(x, y, &found), float x, float y)
LAB_CPU_SECOND(float, remquo, int, __builtin_remquof(x, y, &found), float x, float y)
LAB_CPU_SECOND(double, remquo, int, __builtin_remquo(x, y, &found), double x, double y)
#undef LAB_CPU_SECOND

#define LAB_CPU_QUESTION(name, builtin)                               \
    LAB_CPU_OVERLOAD bool name(float x) { return builtin(x) != 0; }   \
    LAB_CPU_OVERLOAD bool name(double x) { return builtin(x) != 0; }  \
    inline int __##name(double x) { return builtin(x) != 0; }         \
    inline int __##name##f(float x) { return builtin(x) != 0; }
LAB_CPU_QUESTION(isnan, __builtin_isnan)
LAB_CPU_QUESTION(isinf, __builtin_isinf)
LAB_CPU_QUESTION(isfinite, __builtin_isfinite)
LAB_CPU_QUESTION(signbit, __builtin_signbit)
#undef LAB_CPU_QUESTION
inline int __finite(double x) { return __builtin_isfinite(x); }
inline int __finitef(float x) { return __builtin_isfinite(x); }
#else
#define LAB_CPU_OVERLOAD template <int = 0> inline
#endif

// min and max take two of one type, a signed and an unsigned one (the unsigned one is computed), or float and double. Other
// pairs are ambiguous, as they are to NVRTC.
#define LAB_CPU_ENDS(A, B, C)                                                                                  \
    LAB_CPU_OVERLOAD constexpr C min(A x, B y) {                                                               \
        const C a = static_cast<C>(x), b = static_cast<C>(y);                                                  \
        return b < a ? b : a;                                                                                  \
    }                                                                                                          \
    LAB_CPU_OVERLOAD constexpr C max(A x, B y) {                                                               \
        const C a = static_cast<C>(x), b = static_cast<C>(y);                                                  \
        return a < b ? b : a;                                                                                  \
    }
#define LAB_CPU_INTEGER_ENDS(T)                  \
    LAB_CPU_ENDS(T, T, T)                        \
    LAB_CPU_ENDS(unsigned T, unsigned T, unsigned T) \
    LAB_CPU_ENDS(T, unsigned T, unsigned T)      \
    LAB_CPU_ENDS(unsigned T, T, unsigned T)
LAB_CPU_INTEGER_ENDS(int)
LAB_CPU_INTEGER_ENDS(long)
LAB_CPU_INTEGER_ENDS(long long)
#undef LAB_CPU_INTEGER_ENDS
#undef LAB_CPU_ENDS

// Of a number and a NaN, min and max of floating types give the number.
LAB_CPU_OVERLOAD float min(float a, float b) { return fminf(a, b); }
LAB_CPU_OVERLOAD float max(float a, float b) { return fmaxf(a, b); }
LAB_CPU_OVERLOAD double min(double a, double b) { return fmin(a, b); }
LAB_CPU_OVERLOAD double max(double a, double b) { return fmax(a, b); }
LAB_CPU_OVERLOAD double min(float a, double b) { return fmin(double(a), b); }
LAB_CPU_OVERLOAD double max(float a, double b) { return fmax(double(a), b); }
LAB_CPU_OVERLOAD double min(double a, float b) { return fmin(a, double(b)); }
LAB_CPU_OVERLOAD double max(double a, float b) { return fmax(a, double(b)); }
LAB_CPU_OVERLOAD long long llmin(long long a, long long b) { return b < a ? b : a; }
LAB_CPU_OVERLOAD long long llmax(long long a, long long b) { return a < b ? b : a; }
LAB_CPU_OVERLOAD unsigned long long ullmin(unsigned long long a, unsigned long long b) { return b < a ? b : a; }
LAB_CPU_OVERLOAD unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }

// Reinterprets the bits of one type as another.
template <class To, class From>
inline constexpr To lab_cpu_bits(From from) {
    return __builtin_bit_cast(To, from);
}
inline int __float_as_int(float x) { return lab_cpu_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return lab_cpu_bits<unsigned>(x); }
inline float __int_as_float(int x) { return lab_cpu_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return lab_cpu_bits<float>(x); }
inline long long __double_as_longlong(double x) { return lab_cpu_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return lab_cpu_bits<double>(x); }
inline int __double2hiint(double x) { return int(lab_cpu_bits<unsigned long long>(x) >> 32); }
inline int __double2loint(double x) { return int(lab_cpu_bits<unsigned long long>(x)); }
inline double __hiloint2double(int high, int low) {
    return lab_cpu_bits<double>(static_cast<unsigned long long>(unsigned(high)) << 32 | unsigned(low));
}

inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }

inline float rsqrtf(float x) { return float(1.0 / sqrt(double(x))); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return float(1.0 / cbrt(double(x))); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline float rcbrt(float x) { return rcbrtf(x); }
inline float fdividef(float a, float b) { return a / b; }
LAB_CPU_OVERLOAD double fdivide(double a, double b) { return a / b; }
LAB_CPU_OVERLOAD float fdivide(float a, float b) { return a / b; }
inline float exp10f(float x) { return float(pow(10.0, double(x))); }
inline double exp10(double x) { return pow(10.0, x); }
inline float sinpif(float x) { return float(sin(3.14159265358979323846 * remainder(double(x), 2.0))); }
inline float cospif(float x) { return float(cos(3.14159265358979323846 * remainder(double(x), 2.0))); }
inline double sinpi(double x) { return sin(3.14159265358979323846 * remainder(x, 2.0)); }
inline double cospi(double x) { return cos(3.14159265358979323846 * remainder(x, 2.0)); }
inline void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }
inline float normcdff(float x) { return float(0.5 * erfc(-double(x) * 0.70710678118654752440)); }
inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
inline float norm3df(float a, float b, float c) { return sqrt(a * a + b * b + c * c); }

inline float __expf(float x) { return exp(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return log(x); }
inline float __log2f(float x) { return log2(x); }
inline float __log10f(float x) { return log10(x); }
inline float __powf(float x, float y) { return pow(x, y); }
inline float __sinf(float x) { return sin(x); }
inline float __cosf(float x) { return cos(x); }
inline float __tanf(float x) { return tan(x); }
inline float __tanhf(float x) { return tanh(x); }
inline void __sincosf(float x, float* s, float* c) { *s = sin(x), *c = cos(x); }
// Of a divisor beyond 2^126 the quotient is 0 (CUDA Programming Guide, intrinsic functions).
inline float __fdividef(float a, float b) {
    const float large = fabs(b);
    return large > 0x1p126f && !isinf(large) ? a * 0.0f : a / b;
}
inline float __frsqrt_rn(float x) { return rsqrtf(x); }

// The host rounds to nearest.
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fma(a, b, c); }
inline float __fsqrt_rn(float x) { return sqrt(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline double __dsqrt_rn(double x) { return sqrt(x); }
inline double __drcp_rn(double x) { return 1.0 / x; }

// Conversions saturate, and a NaN becomes 0, as on a GPU.
template <class To>
inline constexpr To lab_cpu_lowest = To(-1) < To(0) ? To(To(1) << (8 * sizeof(To) - 1)) : To(0);
template <class To>
inline constexpr To lab_cpu_highest = To(~lab_cpu_lowest<To>);

template <class To, class From>
inline constexpr To lab_cpu_saturate(From x) {
    if (x != x) return 0;
    // The limits, rounded to the floating type. The upper limit may be the first value out of range.
    if (x <= From(lab_cpu_lowest<To>)) return lab_cpu_lowest<To>;
    if (x >= From(lab_cpu_highest<To>)) return lab_cpu_highest<To>;
    return To(x);
}
// A cast, to which lab rewrites `(int)x`. The type may be a name that the user has given to some other one. A GPU converts to a type of fewer than 32 bits through 32 bits.
template <class To, class From>
inline constexpr To lab_cpu_cast(From x) {
    if constexpr (!lab_cpu_is_floating<From> || !lab_cpu_is_integral<To>) return (To)x;
    else if constexpr (To(2) == To(1)) return (To)x;
    else if constexpr (sizeof(To) >= 4) return lab_cpu_saturate<To>(x);
    else return To(lab_cpu_saturate<lab_cpu_if<To(-1) < To(0), int, unsigned>>(x));
}

#define LAB_CPU_ROUNDINGS(name, To, From)                                                   \
    inline To name##_rn(From x) { return lab_cpu_saturate<To>(nearbyint(x)); }         \
    inline To name##_rz(From x) { return lab_cpu_saturate<To>(trunc(x)); }             \
    inline To name##_rd(From x) { return lab_cpu_saturate<To>(floor(x)); }             \
    inline To name##_ru(From x) { return lab_cpu_saturate<To>(ceil(x)); }
LAB_CPU_ROUNDINGS(__float2int, int, float)
LAB_CPU_ROUNDINGS(__float2uint, unsigned, float)
LAB_CPU_ROUNDINGS(__float2ll, long long, float)
LAB_CPU_ROUNDINGS(__float2ull, unsigned long long, float)
LAB_CPU_ROUNDINGS(__double2int, int, double)
LAB_CPU_ROUNDINGS(__double2uint, unsigned, double)
LAB_CPU_ROUNDINGS(__double2ll, long long, double)
LAB_CPU_ROUNDINGS(__double2ull, unsigned long long, double)
#undef LAB_CPU_ROUNDINGS
inline float __double2float_rn(double x) { return float(x); }
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline float __ll2float_rn(long long x) { return float(x); }
inline float __ull2float_rn(unsigned long long x) { return float(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return double(x); }
inline double __ull2double_rn(unsigned long long x) { return double(x); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
inline unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(unsigned(x))) << 32 | __brev(unsigned(x >> 32));
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const unsigned long long bytes = static_cast<unsigned long long>(high) << 32 | low;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned nibble = selector >> 4 * i & 15;
        unsigned byte = unsigned(bytes >> 8 * (nibble & 7)) & 255;
        // If the high bit of a selector is set, the byte's sign is replicated.
        if (nibble & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * i;
    }
    return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return unsigned((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return unsigned((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
inline int __mulhi(int a, int b) { return int(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(static_cast<unsigned long long>(a) * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return static_cast<long long>(static_cast<__int128>(a) * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline unsigned __sad(int a, int b, unsigned c) { return unsigned(a < b ? b - a : a - b) + c; }
inline int __hadd(int a, int b) { return int((static_cast<long long>(a) + b) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return unsigned((static_cast<unsigned long long>(a) + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return unsigned((static_cast<unsigned long long>(a) + b + 1) >> 1); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
inline int __rhadd(int a, int b) { return int((static_cast<long long>(a) + b + 1) >> 1); }
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 32; i += 8) c += static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i);
    return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 32; i += 8) c += (a >> i & 255) * (b >> i & 255);
    return c;
}
