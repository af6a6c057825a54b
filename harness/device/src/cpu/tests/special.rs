//! Mathematical functions of CUDA that the C library does not have. The values are from tables.

use super::*;

const SOURCE: &str = r#"
extern "C" __global__ void special(const double*, double* out, int n) {
    int k = 0;
    auto put = [&](double v) { out[k++] = v; };
    put(erfinv(0.5));
    put(erfinv(1e-9));
    put(erfinv(-0.999));
    put(erfcinv(1e-10));
    put(normcdfinv(0.975));
    put(erfcx(3.0));
    put(erfcx(30.0));
    put(cyl_bessel_i0(2.0));
    put(cyl_bessel_i1(-2.0));
    put(norm4d(1.0, 2.0, 4.0, 10.0));
    double s, c;
    sincos(1.0, &s, &c);
    put(s);
    put(c);
    sincospi(0.25, &s, &c);
    put(s);
    put(erfinvf(1.0f) > 1e30f && erfinvf(-1.0f) < -1e30f && isnan(erfinvf(2.0f)));
    put(7.0f + rhypotf(3.0f, 4.0f));
}
"#;

#[test]
fn special_functions_have_the_values_of_tables() {
    let expected: [f64; 15] = [
        0.476_936_276_204_469_9,
        8.862_269_254_527_58e-10,
        -2.326_753_765_513_525,
        4.572_824_967_389_486,
        1.959_963_984_540_054,
        0.179_001_151_181_389,
        0.018_795_888_861_416_75,
        2.279_585_302_336_067,
        -1.590_636_854_637_329,
        11.0,
        0.841_470_984_807_896_5,
        0.540_302_305_868_139_8,
        0.707_106_781_186_547_5,
        1.0,
        7.2,
    ];
    let got: Vec<f64> = Bench::new(SOURCE)
        .run(
            "special",
            &shape(1, 1),
            &[0.0f64],
            expected.len(),
            ExecutionOrder::Forward,
        )
        .unwrap();
    for (number, (got, want)) in got.iter().zip(expected).enumerate() {
        let bound = 1e-7 * want.abs();
        assert!((got - want).abs() <= bound, "{number}: {got} is not {want}");
    }
}

#[test]
fn what_is_rounded_down_up_or_towards_zero_is_the_neighbour_on_that_side() {
    let pairs = [
        (0.1f32, 0.2f32),
        (-0.1, 0.3),
        (1.0, -1.0),
        (3e38, 3e38),
        (-7.0, 3.0),
        (1e-30, 1e-20),
        (16_777_216.0, 1.0),
        (5.5, -0.25),
    ];
    let input: Vec<f32> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let got: Vec<f32> = Bench::new(
        r#"
extern "C" __global__ void rounded(const float* in, float* out, int n) {
    int k = 0;
    for (int i = 0; i < 16; i += 2) {
        const float a = in[i], b = in[i + 1];
        out[k++] = __fadd_rd(a, b), out[k++] = __fadd_ru(a, b), out[k++] = __fadd_rz(a, b);
        out[k++] = __fmul_rd(a, b), out[k++] = __fmul_ru(a, b), out[k++] = __fmul_rz(a, b);
        out[k++] = __double2float_rd(a / 3.0), out[k++] = __double2float_ru(a / 3.0), out[k++] = __double2float_rz(a / 3.0);
    }
}
"#,
    )
    .run("rounded", &shape(1, 1), &input, 72, ExecutionOrder::Forward)
    .unwrap();
    let wanted = pairs.iter().flat_map(|(a, b)| {
        let (a, b) = (f64::from(*a), f64::from(*b));
        [a + b, a * b, a / 3.0].map(|exact| {
            let near = exact as f32;
            let down = if f64::from(near) > exact {
                near.next_down()
            } else {
                near
            };
            let up = if f64::from(near) < exact {
                near.next_up()
            } else {
                near
            };
            [down, up, if exact < 0.0 { up } else { down }]
        })
    });
    // The sum of a number and its opposite is -0 where it is rounded down, and they compare equal.
    assert_eq!(got, wanted.flatten().collect::<Vec<_>>());
}
