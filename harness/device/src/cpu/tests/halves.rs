//! `__half` and `__nv_bfloat16` agree with the `half` crate bit by bit.

use super::*;
use half::{bf16, f16};

const SOURCE: &str = r#"
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define AT const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;

extern "C" __global__ void widen(const unsigned short* in, float2* out, int n) {
    AT out[i] = make_float2(__half2float(__ushort_as_half(in[i])), __bfloat162float(__ushort_as_bfloat16(in[i])));
}
// From float, from double, and the pair forms of each.
extern "C" __global__ void narrow(const float* in, ushort4* out, int n) {
    AT const float x = in[i];
    const double d = double(x);
    out[i] = make_ushort4(__half_as_ushort(__float2half(x)), __half_as_ushort(__double2half(d)),
                          __bfloat16_as_ushort(__float2bfloat16(x)), __bfloat16_as_ushort(__double2bfloat16(d)));
    const __half2 h = __floats2half2_rn(x, -x);
    const __nv_bfloat162 b = __float22bfloat162_rn(make_float2(x, -x));
    if (x == x && (__high2float(h) != -__low2float(h) || __bfloat1622float2(b).y != -float(b.x))) out[i].x = 1;
}
struct Four { unsigned short add, mul, div, fma; };
template <class T> __device__ Four four(T a, T b, T c) {
    return {(a + b).__x, __hmul(a, b).__x, __hdiv(a, b).__x, __hfma(a, b, c).__x};
}
extern "C" __global__ void half_arithmetic(const __half* in, Four* out, int n) {
    AT out[i] = four(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
}
extern "C" __global__ void bf16_arithmetic(const __nv_bfloat16* in, Four* out, int n) {
    AT out[i] = four(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
}
extern "C" __global__ void pairs(const __half2* in, float* out, int) {
    __half2 a = in[0], b = in[1];
    int k = 0;
    auto put = [&](__half2 v) { float2 f = __half22float2(v); out[k++] = f.x; out[k++] = f.y; };
    put(__hadd2(a, b)); put(__hmul2(a, b)); put(__hfma2(a, b, a)); put(__hmax2(a, b)); put(__hlt2(a, b));
    put(__lows2half2(a, b)); put(__half2half2(a.y)); put(h2sqrt(a)); put(a - b);
    out[k++] = __hbgt2(a, b); out[k++] = hexp(a.x) > __half(2.5f); out[k++] = __half2int_rn(a.y);
}
"#;

fn narrowed(x: f32) -> [u16; 4] {
    let (h, b) = (f16::from_f32(x).to_bits(), bf16::from_f32(x).to_bits());
    if x.is_nan() { [0; 4] } else { [h, h, b, b] }
}

/// Rounds `exact` to nearest even. `near` is a neighbour of the result. The crate's own conversion
/// from f64 ignores the low bits.
fn nearest(exact: f64, near: u16, value: fn(u16) -> f64) -> u16 {
    let distance = |bits: &u16| (value(*bits) - exact).abs();
    let candidates = [near.wrapping_sub(1), near, near.wrapping_add(1)];
    let key = |bits: &u16| (distance(bits), bits & 1);
    let numbers = candidates
        .into_iter()
        .filter(|bits| value(*bits).is_finite());
    numbers
        .min_by(|a, b| key(a).partial_cmp(&key(b)).unwrap())
        .unwrap()
}

fn seeded(n: usize) -> impl Iterator<Item = u32> {
    (0..n as u64).map(|i| crate::cpu::order::mix(i) as u32)
}

#[test]
fn conversions_round_to_nearest_even() {
    let mut bench = Bench::new(SOURCE);
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let wide: Vec<[f32; 2]> = bench
        .run(
            "widen",
            &shape(256, 256),
            &all,
            all.len(),
            ExecutionOrder::Forward,
        )
        .unwrap();
    for (bits, [h, b]) in all.iter().zip(wide) {
        let (half, bfloat) = (
            f16::from_bits(*bits).to_f32(),
            bf16::from_bits(*bits).to_f32(),
        );
        assert!(
            h.to_bits() == half.to_bits() || h.is_nan() && half.is_nan(),
            "{bits:#x}"
        );
        assert!(
            b.to_bits() == bfloat.to_bits() || b.is_nan() && bfloat.is_nan(),
            "{bits:#x}"
        );
    }
    // The neighbours of every half and bfloat16, with ties, and floats of all kinds.
    let mut floats: Vec<u32> = seeded(1 << 16).collect();
    for bits in all.iter().filter(|bits| **bits < 0x7c00) {
        let tie = f16::from_bits(*bits).to_f32().to_bits() + (1 << 12);
        floats.extend([
            tie - 1,
            tie,
            tie + 1,
            u32::from(*bits) << 16 | 0x8000,
            u32::from(*bits) << 16 | 0x7fff,
        ]);
    }
    floats.extend((0..64).flat_map(|e| [1f32, 1.5, 1.0001].map(|m| (m * 2f32.powi(-e)).to_bits())));
    let floats: Vec<f32> = floats.into_iter().map(f32::from_bits).collect();
    let blocks = floats.len().div_ceil(256) as u32;
    let out: Vec<[u16; 4]> = bench
        .run(
            "narrow",
            &shape(blocks, 256),
            &floats,
            floats.len(),
            ExecutionOrder::Forward,
        )
        .unwrap();
    for (x, out) in floats.iter().zip(out).filter(|(x, _)| !x.is_nan()) {
        assert_eq!(out, narrowed(*x), "{x:e} {:#x}", x.to_bits());
    }
}

#[test]
fn arithmetic_rounds_once() {
    let mut bench = Bench::new(SOURCE);
    // Exponents near 1, so that a product and a sum are exact in f64 and the reference rounds once
    // too.
    let halves: Vec<u16> = seeded(3 << 15)
        .map(|r| (r as u16 & 0x83ff) | ((10 + (r >> 16) % 12) << 10) as u16)
        .collect();
    let out: Vec<[u16; 4]> = bench
        .run(
            "half_arithmetic",
            &shape(128, 256),
            &halves,
            1 << 15,
            ExecutionOrder::Forward,
        )
        .unwrap();
    for (x, out) in halves.chunks(3).zip(out) {
        let [a, b, c] = [x[0], x[1], x[2]].map(|bits| f16::from_bits(bits).to_f64());
        assert_eq!(
            out,
            [a + b, a * b, a / b, a * b + c].map(|r| nearest(r, f16::from_f64(r).to_bits(), |x| {
                f16::from_bits(x).to_f64()
            })),
            "{a} {b} {c}"
        );
    }
    let bfloats: Vec<u16> = seeded(3 << 15)
        .map(|r| (r as u16 & 0x807f) | ((120 + (r >> 16) % 14) << 7) as u16)
        .collect();
    let out: Vec<[u16; 4]> = bench
        .run(
            "bf16_arithmetic",
            &shape(128, 256),
            &bfloats,
            1 << 15,
            ExecutionOrder::Forward,
        )
        .unwrap();
    for (x, out) in bfloats.chunks(3).zip(out) {
        let [a, b, c] = [x[0], x[1], x[2]].map(|bits| bf16::from_bits(bits).to_f64());
        assert_eq!(
            out,
            [a + b, a * b, a / b, a * b + c].map(|r| nearest(
                r,
                bf16::from_f64(r).to_bits(),
                |x| bf16::from_bits(x).to_f64()
            )),
            "{a} {b} {c}"
        );
    }
}

#[test]
fn a_fused_multiply_add_rounds_once_where_double_would_not_do() {
    let mut bench = Bench::new(SOURCE);
    // 3 * 87/256 = 261/256 is a tie between 260 and 262. The third operand breaks it, far below the
    // last place of a double.
    let tiny = 2f32.powi(-100);
    let x = [
        3.0,
        87.0 / 256.0,
        tiny,
        3.0,
        87.0 / 256.0,
        -tiny,
        3.0,
        87.0 / 256.0,
        0.0,
    ];
    let x = x.map(|x: f32| bf16::from_f32(x).to_bits());
    let out: Vec<[u16; 4]> = bench
        .run(
            "bf16_arithmetic",
            &shape(1, 3),
            &x,
            3,
            ExecutionOrder::Forward,
        )
        .unwrap();
    let fma: Vec<f32> = out
        .iter()
        .map(|[.., fma]| bf16::from_bits(*fma).to_f32() * 256.0)
        .collect();
    assert_eq!(fma, [262.0, 260.0, 260.0]);
}

#[test]
fn pairs_compute_as_two_single_values() {
    let mut bench = Bench::new(SOURCE);
    let input: Vec<u16> = [1.0f32, 4.0, 2.0, 3.0]
        .iter()
        .map(|x| f16::from_f32(*x).to_bits())
        .collect();
    let out: Vec<f32> = bench
        .run("pairs", &shape(1, 1), &input, 21, ExecutionOrder::Forward)
        .unwrap();
    let expected = [
        3.0, 7.0, 2.0, 12.0, 3.0, 16.0, 2.0, 4.0, 1.0, 0.0, 1.0, 2.0, 4.0, 4.0, 1.0, 2.0, -1.0,
        1.0, 0.0, 1.0, 4.0,
    ];
    assert_eq!(out, expected);
}

#[test]
fn comparisons_masks_and_conversions_are_those_of_cudas_header() {
    let got: Vec<i32> = Bench::new(
        r#"#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void halves(const int*, int* out, int n) {
    int k = 0;
    const __half one = 1.0f, nan = __ushort_as_half(0x7fff), third = __float2half_rd(1.0f / 3.0f);
    out[k++] = __hne(one, nan) * 10 + __hneu(one, nan), out[k++] = __hlt(one, nan) * 10 + __hltu(one, nan);
    const __half2 pair = {one, third}, other = {nan, third};
    out[k++] = __heq2_mask(pair, other) == 0xffff0000u, out[k++] = __hequ2_mask(pair, other) == 0xffffffffu;
    out[k++] = __hbeq2(pair, other) * 10 + __hbequ2(pair, other), out[k++] = __hbneu2(pair, other);
    out[k++] = __half_as_ushort(__float2half_ru(1.0f / 3.0f)) - __half_as_ushort(third);
    out[k++] = __half2short_rn(__half(40000.0f)), out[k++] = __half2uchar_rz(__half(-3.0f)), out[k++] = __half2ushort_ru(__half(2.5f));
    out[k++] = __bfloat16_as_ushort(__ll2bfloat16_rz(257)) == 0x4380, out[k++] = __bfloat16_as_ushort(__int2bfloat16_ru(257)) == 0x4381;
    out[k++] = __half_as_ushort(__int2half_rd(70000)) == 0x7bff, out[k++] = __half_as_ushort(__int2half_rz(-70000)) == 0xfbff;
    const __half2 i = {0.0f, 1.0f}, product = __hcmadd(i, i, __half2(0.0f, 0.0f));
    out[k++] = int(float(product.x)), out[k++] = int(float(product.y));
    out[k++] = int(float(h2ceil(pair).y)), out[k++] = int(float(__hfma_sat(one, one, one)));
}
"#,
    )
    .run("halves", &shape(1, 1), &[0i32], 18, ExecutionOrder::Forward)
    .unwrap();
    let wanted = [1, 1, 1, 1, 1, 0, 1, 32767, 0, 3, 1, 1, 1, 1, -1, 0, 1, 1];
    assert_eq!(got, wanted);
}
