//! The two 8-bit floats of OCP's specification, as CUDA's `__nv_fp8_e4m3` and `__nv_fp8_e5m2`.

use std::sync::LazyLock;

/// An 8-bit float: a sign, an exponent and a mantissa.
pub struct Float8 {
    /// The values of the codes that are positive and finite, in ascending order.
    positive: LazyLock<Vec<f64>>,
    /// The code of positive infinity, if there is one.
    infinity: Option<u8>,
}

/// 4 bits of exponent, 3 of mantissa. It has no infinity; its largest number is 448.
pub static E4M3: Float8 = Float8 {
    positive: LazyLock::new(|| (0..0x7f).map(|code| value(code, 3, 7)).collect()),
    infinity: None,
};

/// 5 bits of exponent, 2 of mantissa. Its largest number is 57344.
pub static E5M2: Float8 = Float8 {
    positive: LazyLock::new(|| (0..0x7c).map(|code| value(code, 2, 15)).collect()),
    infinity: Some(0x7c),
};

/// The code of NaN that CUDA's conversions give.
const NAN: u8 = 0x7f;

fn value(code: u8, mantissa_bits: i32, bias: i32) -> f64 {
    let (exponent, mantissa) = (
        i32::from(code >> mantissa_bits),
        i32::from(code & ((1 << mantissa_bits) - 1)),
    );
    let (whole, exponent) = match exponent {
        // A denormal.
        0 => (mantissa, 1),
        _ => (mantissa | 1 << mantissa_bits, exponent),
    };
    f64::from(whole) * f64::from(exponent - bias - mantissa_bits).exp2()
}

impl Float8 {
    /// The exact value of a code.
    pub fn decode(&self, code: u8) -> f64 {
        let magnitude = match self.positive.get(usize::from(code & 0x7f)) {
            Some(value) => *value,
            None if self.infinity == Some(code & 0x7f) => f64::INFINITY,
            None => f64::NAN,
        };
        if code & 0x80 == 0 {
            magnitude
        } else {
            -magnitude
        }
    }

    /// The code nearest to `value`, ties to even. A finite number beyond the largest one gives the
    /// largest one, as CUDA's conversions do.
    pub fn encode(&self, value: f64) -> u8 {
        if value.is_nan() {
            return NAN;
        }
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let (positive, magnitude) = (&self.positive, value.abs());
        if let Some(infinity) = self.infinity.filter(|_| magnitude.is_infinite()) {
            return sign | infinity;
        }
        let above = positive
            .partition_point(|code| *code < magnitude)
            .min(positive.len() - 1);
        let below = above.saturating_sub(1);
        let middle = f64::midpoint(positive[below], positive[above]);
        let nearest = match magnitude.partial_cmp(&middle) {
            Some(std::cmp::Ordering::Less) => below,
            Some(std::cmp::Ordering::Equal) => below + below % 2,
            _ => above,
        };
        sign | nearest as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static BOTH: [&Float8; 2] = [&E4M3, &E5M2];

    impl Float8 {
        fn largest(&self) -> f64 {
            self.positive[self.positive.len() - 1]
        }
    }

    #[test]
    fn known_codes_have_their_values() {
        let e4m3 = [
            (0x00, 0.0),
            (0x01, 1.0 / 512.0),
            (0x08, 1.0 / 64.0),
            (0x38, 1.0),
            (0x7e, 448.0),
            (0xbc, -1.5),
        ];
        let e5m2 = [
            (0x01, 1.0 / 65536.0),
            (0x3c, 1.0),
            (0x7b, 57344.0),
            (0xfc, f64::NEG_INFINITY),
        ];
        for (code, value) in e4m3 {
            assert_eq!(E4M3.decode(code), value, "{code:#x}");
        }
        for (code, value) in e5m2 {
            assert_eq!(E5M2.decode(code), value, "{code:#x}");
        }
        assert!(E4M3.decode(0x7f).is_nan() && E4M3.decode(0xff).is_nan());
        assert!(
            [0x7d, 0x7e, 0x7f, 0xfd]
                .iter()
                .all(|code| E5M2.decode(*code).is_nan())
        );
        assert_eq!((E4M3.largest(), E5M2.largest()), (448.0, 57344.0));
    }

    #[test]
    fn every_code_goes_there_and_back() {
        for format in BOTH {
            for code in 0..=u8::MAX {
                let value = format.decode(code);
                let back = format.encode(value);
                assert!(
                    back == code || (value.is_nan() && back == NAN),
                    "{code:#x} became {back:#x}"
                );
            }
        }
    }

    #[test]
    fn the_nearest_code_is_taken_and_ties_go_to_even() {
        for format in BOTH {
            let positive = &format.positive;
            for (below, pair) in positive.windows(2).enumerate() {
                let middle = f64::midpoint(pair[0], pair[1]);
                let even = if below % 2 == 0 { below } else { below + 1 };
                assert_eq!(usize::from(format.encode(middle)), even);
                assert_eq!(usize::from(format.encode(middle.next_down())), below);
                assert_eq!(usize::from(format.encode(middle.next_up())), below + 1);
                assert_eq!(usize::from(format.encode(-middle)), even | 0x80);
            }
            assert_eq!(format.decode(format.encode(1e30)), format.largest());
            assert_eq!(format.decode(format.encode(-1e30)), -format.largest());
        }
        assert_eq!(E4M3.encode(f64::INFINITY), 0x7e);
        assert_eq!(E5M2.encode(f64::INFINITY), 0x7c);
    }
}
