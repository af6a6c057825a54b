// __nv_fp8_e4m3 and __nv_fp8_e5m2, single, in pairs and in fours. Each conversion rounds once, to nearest even.
#pragma once

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;

enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

// Rounds to 8 bits. What is too large becomes the largest finite number, or without saturation NaN in e4m3 and an
// infinity in e5m2.
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
    const int mantissa = kind == __NV_E4M3 ? 3 : 2, bias = kind == __NV_E4M3 ? 7 : 15;
    const unsigned largest = kind == __NV_E4M3 ? 0x7e : 0x7b;
    const auto bits = lab_cpu_bits<unsigned long long>(x);
    const unsigned sign = unsigned(bits >> 63) << 7;
    const int e = int(bits >> 52 & 0x7ff) - 1023;
    const unsigned long long fraction = bits & ((1ull << 52) - 1);
    if (e == 1024 && fraction) return 0x7f;
    unsigned result = 0xff;
    if (e <= bias + 1) {
        // Below the smallest normal number the last place does not move.
        const int lost = 52 - mantissa + (e < 1 - bias ? 1 - bias - e : 0);
        if (lost > 54) return (__nv_fp8_storage_t)sign;
        const unsigned long long whole = fraction | 1ull << 52;
        unsigned long long kept = whole >> lost;
        const unsigned long long rest = whole & ((1ull << lost) - 1), tie = 1ull << (lost - 1);
        kept += rest > tie || (rest == tie && (kept & 1));
        // A carry out of the mantissa correctly goes into the exponent.
        result = unsigned(kept) + (e >= 1 - bias ? unsigned(e + bias - 1) << mantissa : 0);
    }
    if (result > largest) result = saturate == __NV_SATFINITE ? largest : kind == __NV_E4M3 ? 0x7f : 0x7c;
    return (__nv_fp8_storage_t)(sign | result);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
    return __nv_cvt_double_to_fp8(double(x), saturate, kind);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate,
                                                  __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float_to_fp8(lab_cpu_f16::to(x.x), saturate, kind);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturate,
                                                      __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float_to_fp8(lab_cpu_bf16::to(x.x), saturate, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t saturate,
                                                      __nv_fp8_interpretation_t kind) {
    const unsigned low = __nv_cvt_double_to_fp8(x.x, saturate, kind), high = __nv_cvt_double_to_fp8(x.y, saturate, kind);
    return (__nv_fp8x2_storage_t)(low | high << 8);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturate,
                                                     __nv_fp8_interpretation_t kind) {
    return __nv_cvt_double2_to_fp8x2({double(x.x), double(x.y)}, saturate, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturate,
                                                       __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float2_to_fp8x2({lab_cpu_f16::to(x.x), lab_cpu_f16::to(x.y)}, saturate, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw x, __nv_saturation_t saturate,
                                                           __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float2_to_fp8x2({lab_cpu_bf16::to(x.x), lab_cpu_bf16::to(x.y)}, saturate, kind);
}

// Every value of 8 bits is one of __half too. In e5m2 it is the upper byte.
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
    __half_raw result;
    result.x = (unsigned short)(x << 8);
    if (kind == __NV_E5M2) return result;
    const unsigned rest = x & 0x7f, sign = unsigned(x & 0x80) << 8;
    if (rest == 0x7f) {
        result.x = 0x7fff;
        return result;
    }
    const float magnitude = rest >= 8 ? float(8 + (rest & 7)) * lab_cpu_bits<float>((rest >> 3) + 117u << 23) : float(rest) * 0x1p-9f;
    result.x = (unsigned short)(sign | lab_cpu_f16::from(magnitude));
    return result;
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t kind) {
    __half2_raw result;
    result.x = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(x & 0xff), kind).x;
    result.y = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(x >> 8), kind).x;
    return result;
}

template <__nv_fp8_interpretation_t kind>
struct lab_cpu_fp8 {
    __nv_fp8_storage_t __x;

    lab_cpu_fp8() = default;
    // From any number, saturated. CUDA converts integers to float first.
    template <class From, class = lab_cpu_if<lab_cpu_is_arithmetic<From>, int>>
    explicit lab_cpu_fp8(From x)
        : __x(__nv_cvt_double_to_fp8(lab_cpu_is_integral<From> ? double(float(x)) : double(x), __NV_SATFINITE, kind)) {}
    explicit lab_cpu_fp8(__half x) : lab_cpu_fp8(float(x)) {}
    explicit lab_cpu_fp8(__nv_bfloat16 x) : lab_cpu_fp8(float(x)) {}

    explicit operator __half() const { return __half::of(__nv_cvt_fp8_to_halfraw(__x, kind).x); }
    explicit operator float() const { return lab_cpu_f16::to(__nv_cvt_fp8_to_halfraw(__x, kind).x); }
    explicit operator double() const { return double(float(*this)); }
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(float(*this)); }
    explicit operator bool() const { return (__x & 0x7f) != 0; }
    explicit operator signed char() const { return clamped<signed char>(); }
    explicit operator unsigned char() const { return clamped<unsigned char>(); }
    explicit operator char() const { return clamped<char>(); }
    explicit operator short() const { return clamped<short>(); }
    explicit operator unsigned short() const { return clamped<unsigned short>(); }
    explicit operator int() const { return clamped<int>(); }
    explicit operator unsigned() const { return clamped<unsigned>(); }
    explicit operator long() const { return clamped<long>(); }
    explicit operator unsigned long() const { return clamped<unsigned long>(); }
    explicit operator long long() const { return clamped<long long>(); }
    explicit operator unsigned long long() const { return clamped<unsigned long long>(); }

private:
    // Rounded towards zero. NaN is 0.
    template <class To>
    To clamped() const {
        const float x = float(*this);
        if (x != x) return 0;
        if (x <= float(lab_cpu_lowest<To>)) return lab_cpu_lowest<To>;
        if (x >= float(lab_cpu_highest<To>)) return lab_cpu_highest<To>;
        return To(x);
    }
};

template <__nv_fp8_interpretation_t kind>
struct lab_cpu_fp8x2 {
    __nv_fp8x2_storage_t __x;

    lab_cpu_fp8x2() = default;
    explicit lab_cpu_fp8x2(float2 x) : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, kind)) {}
    explicit lab_cpu_fp8x2(double2 x) : __x(__nv_cvt_double2_to_fp8x2(x, __NV_SATFINITE, kind)) {}
    explicit lab_cpu_fp8x2(__half2 x) : lab_cpu_fp8x2(__half22float2(x)) {}
    explicit lab_cpu_fp8x2(__nv_bfloat162 x) : lab_cpu_fp8x2(__bfloat1622float2(x)) {}

    explicit operator __half2() const {
        const __half2_raw raw = __nv_cvt_fp8x2_to_halfraw2(__x, kind);
        return {__half::of(raw.x), __half::of(raw.y)};
    }
    explicit operator float2() const { return __half22float2(__half2(*this)); }
};

template <__nv_fp8_interpretation_t kind>
struct lab_cpu_fp8x4 {
    __nv_fp8x4_storage_t __x;

    lab_cpu_fp8x4() = default;
    explicit lab_cpu_fp8x4(float4 x) : lab_cpu_fp8x4(lab_cpu_fp8x2<kind>(float2{x.x, x.y}), lab_cpu_fp8x2<kind>(float2{x.z, x.w})) {}
    explicit lab_cpu_fp8x4(double4 x) : lab_cpu_fp8x4(lab_cpu_fp8x2<kind>(double2{x.x, x.y}), lab_cpu_fp8x2<kind>(double2{x.z, x.w})) {}
    explicit lab_cpu_fp8x4(__half2 low, __half2 high) : lab_cpu_fp8x4(lab_cpu_fp8x2<kind>(low), lab_cpu_fp8x2<kind>(high)) {}
    explicit lab_cpu_fp8x4(__nv_bfloat162 low, __nv_bfloat162 high)
        : lab_cpu_fp8x4(lab_cpu_fp8x2<kind>(low), lab_cpu_fp8x2<kind>(high)) {}

    explicit operator float4() const {
        lab_cpu_fp8x2<kind> low, high;
        low.__x = (__nv_fp8x2_storage_t)(__x & 0xffff);
        high.__x = (__nv_fp8x2_storage_t)(__x >> 16);
        const float2 a = float2(low), b = float2(high);
        return {a.x, a.y, b.x, b.y};
    }

private:
    lab_cpu_fp8x4(lab_cpu_fp8x2<kind> low, lab_cpu_fp8x2<kind> high) : __x(low.__x | unsigned(high.__x) << 16) {}
};

using __nv_fp8_e4m3 = lab_cpu_fp8<__NV_E4M3>;
using __nv_fp8_e5m2 = lab_cpu_fp8<__NV_E5M2>;
using __nv_fp8x2_e4m3 = lab_cpu_fp8x2<__NV_E4M3>;
using __nv_fp8x2_e5m2 = lab_cpu_fp8x2<__NV_E5M2>;
using __nv_fp8x4_e4m3 = lab_cpu_fp8x4<__NV_E4M3>;
using __nv_fp8x4_e5m2 = lab_cpu_fp8x4<__NV_E5M2>;
