//! `__nv_fp8_e4m3` and `__nv_fp8_e5m2` hold the values of OCP's specification, and conversions
//! round to nearest even.

use super::*;

const SOURCE: &str = r#"
#include <cuda_fp8.h>
#define AT const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;

template <class T> __device__ T of(unsigned char bits) { T value; value.__x = bits; return value; }

extern "C" __global__ void widen(const unsigned char* in, float2* out, int n) {
    AT out[i] = make_float2(float(of<__nv_fp8_e4m3>(in[i])), float(of<__nv_fp8_e5m2>(in[i])));
    const float h = __half2float(__half(of<__nv_fp8_e4m3>(in[i])));
    const float b = __bfloat162float(__nv_bfloat16(of<__nv_fp8_e5m2>(in[i])));
    if (out[i].x == out[i].x && (h != out[i].x || double(of<__nv_fp8_e4m3>(in[i])) != h)) out[i].x = 1e9f;
    if (out[i].y == out[i].y && b != out[i].y) out[i].y = 1e9f;
}
extern "C" __global__ void narrow(const float* in, uchar4* out, int n) {
    AT const float x = in[i];
    out[i] = make_uchar4(__nv_fp8_e4m3(x).__x, __nv_fp8_e5m2(double(x)).__x,
                         __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3), __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2));
    const __nv_fp8x2_e4m3 two(make_float2(x, 1.0f));
    const __nv_fp8x4_e5m2 four(make_float4(2.0f, 0.5f, x, -1.0f));
    if ((two.__x & 0xff) != out[i].x || two.__x >> 8 != 0x38) out[i].x = 99;
    if ((four.__x >> 16 & 0xff) != out[i].y || (four.__x & 0xffff) != 0x3840 || four.__x >> 24 != 0xbc) out[i].y = 99;
}
extern "C" __global__ void others(const float*, float* out, int) {
    const __nv_fp8x2_e5m2 two(__floats2half2_rn(3.0f, -0.25f));
    const float2 f = float2(two);
    const __nv_fp8x4_e4m3 four(__floats2half2_rn(1.0f, 2.0f), __floats2half2_rn(3.0f, 448.0f));
    const float4 g = float4(four);
    const float all[] = {f.x, f.y, g.x, g.y, g.z, g.w,
                         float(int(__nv_fp8_e4m3(-2.75f))), float((unsigned char)__nv_fp8_e4m3(-3.0f)),
                         float((signed char)__nv_fp8_e5m2(4096.0f)), float(bool(__nv_fp8_e4m3(-0.0f))),
                         float(__nv_fp8_e4m3(300)), float(__nv_fp8_e5m2(__float2bfloat16(0.3f))),
                         __half2float(__half(__nv_cvt_fp8_to_halfraw(0x08, __NV_E4M3)))};
    for (int k = 0; k < 13; k++) out[k] = all[k];
}
"#;

/// The value of a code, by the definition of the formats.
fn value(code: u8, mantissa_bits: u32, bias: i32) -> f64 {
    let exponent = i32::from((code & 0x7f) >> mantissa_bits);
    let fraction = f64::from(code & ((1 << mantissa_bits) - 1)) / f64::from(1 << mantissa_bits);
    let magnitude = match exponent {
        0 => fraction * f64::from(1 - bias).exp2(),
        _ => (1.0 + fraction) * f64::from(exponent - bias).exp2(),
    };
    if code & 0x80 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

fn e4m3(code: u8) -> f64 {
    if code & 0x7f == 0x7f {
        f64::NAN
    } else {
        value(code, 3, 7)
    }
}

fn e5m2(code: u8) -> f64 {
    match code & 0x7f {
        0x7c => f64::INFINITY.copysign(value(code, 2, 15)),
        0x7d.. => f64::NAN,
        _ => value(code, 2, 15),
    }
}

/// The code nearest to `x` among the finite ones, ties to even.
fn nearest(x: f64, largest: u8, value: fn(u8) -> f64) -> u8 {
    // Beyond a million every distance would be the same.
    let distance = |code: &u8| (value(*code) - x.abs().min(1e6)).abs();
    let key = |code: &u8| (distance(code), code & 1);
    let code = (0..=largest)
        .min_by(|a, b| key(a).partial_cmp(&key(b)).unwrap())
        .unwrap();
    code | if x.is_sign_negative() { 0x80 } else { 0 }
}

#[test]
fn every_code_has_its_value() {
    let all: Vec<u8> = (0..=u8::MAX).collect();
    let wide: Vec<[f32; 2]> = Bench::new(SOURCE)
        .run(
            "widen",
            &shape(1, 256),
            &all,
            all.len(),
            ExecutionOrder::Forward,
        )
        .unwrap();
    for (code, [a, b]) in all.iter().zip(wide) {
        let same = |got: f32, want: f64| f64::from(got) == want || (got.is_nan() && want.is_nan());
        assert!(
            same(a, e4m3(*code)) && same(b, e5m2(*code)),
            "{code:#x}: {a} {b}"
        );
    }
}

#[test]
fn conversions_round_to_nearest_even_and_saturate() {
    let mut floats = vec![
        0.0,
        -0.0,
        464.0,
        465.0,
        61439.0,
        61440.0,
        1e30,
        -1e30,
        1e-30,
        f32::INFINITY,
    ];
    for value in [e4m3 as fn(u8) -> f64, e5m2] {
        for code in 0..0x7b {
            let middle = f64::midpoint(value(code), value(code + 1)) as f32;
            floats.extend([
                middle,
                middle.next_up(),
                middle.next_down(),
                -middle,
                value(code) as f32,
            ]);
        }
    }
    floats.extend((0..4000).map(|i| (i as f32 - 2000.0) * 0.377));
    let blocks = floats.len().div_ceil(256) as u32;
    let out: Vec<[u8; 4]> = Bench::new(SOURCE)
        .run(
            "narrow",
            &shape(blocks, 256),
            &floats,
            floats.len(),
            ExecutionOrder::Forward,
        )
        .unwrap();
    for (x, got) in floats.iter().zip(out) {
        let (x, sign) = (f64::from(*x), if x.is_sign_negative() { 0x80 } else { 0 });
        let (small, wide) = match x.is_infinite() {
            true => (0x7e, 0x7b),
            false => (nearest(x, 0x7e, e4m3), nearest(x, 0x7b, e5m2)),
        };
        // Without saturation, what would round beyond the largest number has another code.
        let beyond_small = if x.abs() > 464.0 { sign | 0x7f } else { small };
        let beyond_wide = if x.abs() >= 61440.0 {
            sign | 0x7c
        } else {
            wide
        };
        assert_eq!(got, [small, wide, beyond_small, beyond_wide], "{x}");
    }
    let nan: Vec<[u8; 4]> = Bench::new(SOURCE)
        .run(
            "narrow",
            &shape(1, 1),
            &[f32::NAN],
            1,
            ExecutionOrder::Forward,
        )
        .unwrap();
    assert_eq!(nan, [[0x7f; 4]]);
}

#[test]
fn other_types_convert_too() {
    let out: Vec<f32> = Bench::new(SOURCE)
        .run(
            "others",
            &shape(1, 1),
            &[0.0f32],
            13,
            ExecutionOrder::Forward,
        )
        .unwrap();
    let expected = [
        3.0,
        -0.25,
        1.0,
        2.0,
        3.0,
        448.0,
        -2.0,
        0.0,
        127.0,
        0.0,
        288.0,
        0.3125,
        1.0 / 64.0,
    ];
    assert_eq!(out, expected);
}
