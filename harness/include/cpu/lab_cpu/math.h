// CUDA's arithmetic functions and intrinsics beyond <cmath>. The fast approximations call the accurate functions.
#pragma once

using std::abs;
using std::fpclassify;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::max;
using std::min;
using std::signbit;

inline constexpr float CUDART_INF_F = __builtin_inff();
inline constexpr float CUDART_NAN_F = __builtin_nanf("");

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

// min and max of mixed types as in CUDA: the common type; the unsigned one if signedness is mixed.
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && !std::is_same_v<A, B>>>
inline constexpr std::common_type_t<A, B> min(A a, B b) {
    using C = std::common_type_t<A, B>;
    return C(b) < C(a) ? C(b) : C(a);
}
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && !std::is_same_v<A, B>>>
inline constexpr std::common_type_t<A, B> max(A a, B b) {
    using C = std::common_type_t<A, B>;
    return C(a) < C(b) ? C(b) : C(a);
}
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
inline int umin(unsigned a, unsigned b) { return int(a < b ? a : b); }
inline int umax(unsigned a, unsigned b) { return int(a > b ? a : b); }

inline float rsqrtf(float x) { return float(1.0 / std::sqrt(double(x))); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return float(1.0 / std::cbrt(double(x))); }
inline float fdividef(float a, float b) { return a / b; }
inline float exp10f(float x) { return float(std::pow(10.0, double(x))); }
inline double exp10(double x) { return std::pow(10.0, x); }
inline float sinpif(float x) { return float(std::sin(3.14159265358979323846 * std::remainder(double(x), 2.0))); }
inline float cospif(float x) { return float(std::cos(3.14159265358979323846 * std::remainder(double(x), 2.0))); }
inline double sinpi(double x) { return std::sin(3.14159265358979323846 * std::remainder(x, 2.0)); }
inline double cospi(double x) { return std::cos(3.14159265358979323846 * std::remainder(x, 2.0)); }
inline void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }
inline float normcdff(float x) { return float(0.5 * std::erfc(-double(x) * 0.70710678118654752440)); }
inline double normcdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }
inline float norm3df(float a, float b, float c) { return std::sqrt(a * a + b * b + c * c); }

inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log10(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __tanf(float x) { return std::tan(x); }
inline float __tanhf(float x) { return std::tanh(x); }
inline void __sincosf(float x, float* s, float* c) { *s = std::sin(x), *c = std::cos(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }

// The host rounds to nearest.
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline double __dsqrt_rn(double x) { return std::sqrt(x); }
inline double __drcp_rn(double x) { return 1.0 / x; }

// Conversions saturate, and a NaN becomes 0, as on a GPU.
template <class To, class From>
inline To lab_cpu_saturate(From x) {
    if (std::isnan(x)) return 0;
    // The limits, rounded to the floating type. The upper limit may be the first value out of range.
    if (x <= From(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (x >= From(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return To(x);
}
#define LAB_CPU_ROUNDINGS(name, To, From)                                                   \
    inline To name##_rn(From x) { return lab_cpu_saturate<To>(std::nearbyint(x)); }         \
    inline To name##_rz(From x) { return lab_cpu_saturate<To>(std::trunc(x)); }             \
    inline To name##_rd(From x) { return lab_cpu_saturate<To>(std::floor(x)); }             \
    inline To name##_ru(From x) { return lab_cpu_saturate<To>(std::ceil(x)); }
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
inline int __rhadd(int a, int b) { return int((static_cast<long long>(a) + b + 1) >> 1); }
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 32; i += 8) c += static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i);
    return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 32; i += 8) c += (a >> i & 255) * (b >> i & 255);
    return c;
}
