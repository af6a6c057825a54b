//! Numbers in sentences and tables: as many digits as a person reads.
//!
//! The rule of [`figure`]: a number is rounded first, and its form follows from the rounded number.
//!
//! | size of the rounded number | form | example |
//! |---|---|---|
//! | 0 | `0` | `0` |
//! | below 0.001 | 3 significant digits with a power of ten | `2.1e-6` |
//! | from 0.001 to below 1000 | 4 significant digits | `88.2`, `0.01235` |
//! | from 1000 to below 10¹⁵ | whole, with a comma before each 3 digits | `11,044,150` |
//! | from 10¹⁵ on | 3 significant digits with a power of ten | `1e20` |
//!
//! Zeros at the end of a fraction are left out. So a larger number never reads as a smaller one.

/// The text of one number. NaN is `NaN`; infinities are `inf` and `-inf`.
///
/// ```
/// use lab_core::text::figures::figure;
/// assert_eq!(figure(11_044_149.977), "11,044,150");
/// assert_eq!(figure(999.96), "1,000");
/// assert_eq!(figure(0.0123456), "0.01235");
/// assert_eq!(figure(0.00003), "3e-5");
/// ```
pub fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    // A number just below a limit may round up to the limit, and then has the form beyond it.
    let four = rounded(value, 4);
    let shown = if four.abs() < 1e-3 { rounded(value, 3) } else { four };
    if shown.abs() < 1e-3 || value.round().abs() >= 1e15 {
        return scientific(value);
    }
    if shown.abs() >= 1e3 {
        return thousands(value);
    }
    let digits_before = shown.abs().log10().floor() as i32 + 1;
    trimmed(&format!("{shown:.0$}", (4 - digits_before).max(0) as usize)).to_owned()
}

/// The texts of two numbers that stand beside each other. Two that differ never read the same: they then have all
/// their digits.
///
/// ```
/// use lab_core::text::figures::pair;
/// assert_eq!(pair(88_196.17, 1.0), ("88,196".into(), "1".into()));
/// assert_eq!(pair(1.00001, 1.0), ("1.00001".into(), "1".into()));
/// ```
pub fn pair(a: f64, b: f64) -> (String, String) {
    let (short_a, short_b) = (figure(a), figure(b));
    if a != b && short_a == short_b { (a.to_string(), b.to_string()) } else { (short_a, short_b) }
}

/// A finite number rounded to a whole one, with a comma before each 3 digits.
///
/// ```
/// assert_eq!(lab_core::text::figures::thousands(-1499.6), "-1,500");
/// ```
pub fn thousands(value: f64) -> String {
    let whole = value.round();
    let digits = format!("{:.0}", whole.abs());
    let mut text = if whole < 0.0 { "-".to_owned() } else { String::new() };
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number's digits without the zeros that end a fraction: `1.50` is `1.5`, `2.0` is `2`, `100` stays.
pub fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// A finite number rounded to so many significant digits.
fn rounded(value: f64, digits: usize) -> f64 {
    // Decimal rounding is exact only in decimal digits. Text of a finite number always parses.
    format!("{value:.0$e}", digits - 1).parse().unwrap_or(value)
}

fn scientific(value: f64) -> String {
    let text = format!("{value:.2e}");
    text.split_once('e').map_or(text.clone(), |(digits, power)| format!("{}e{power}", trimmed(digits)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_are_as_a_person_reads_them() {
        let shown: Vec<String> =
            [11044149.977, 1031.0, 999.96, 88.19617, 1.0, 0.0123456, 3e-5, 2.1e-6, -1500.0]
                .map(figure)
                .to_vec();
        assert_eq!(
            shown,
            ["11,044,150", "1,031", "1,000", "88.2", "1", "0.01235", "3e-5", "2.1e-6", "-1,500"]
        );
        assert_eq!([0.0, -0.0, f64::NAN, f64::INFINITY].map(figure), ["0", "0", "NaN", "inf"]);
        assert_eq!(figure(1e20), "1e20");
    }

    #[test]
    fn a_number_that_rounds_to_a_limit_has_the_form_beyond_it() {
        assert_eq!([999.94, 999.95, 999.96, 1000.0, 1000.4].map(figure)[1..], ["1,000"; 4]);
        assert_eq!(figure(999.94), "999.9");
        assert_eq!([9.9994e-4, 9.9996e-4, 1e-3].map(figure), ["0.001"; 3]);
        assert_eq!(figure(9.994e-4), "9.99e-4");
        assert_eq!([999_999_999_999_999.4, 999_999_999_999_999.6].map(figure), ["999,999,999,999,999", "1e15"]);
    }

    #[test]
    fn a_value_just_above_its_limit_is_not_told_as_the_limit() {
        assert_eq!(pair(88196.17, 1.0), ("88,196".into(), "1".into()));
        assert_eq!(pair(1.00001, 1.0), ("1.00001".into(), "1".into()));
    }

    fn number(text: &str) -> f64 {
        text.replace(',', "").parse().expect("a figure is a number")
    }

    /// Numbers of every size, many of them close to a limit between two forms.
    fn numbers() -> impl Strategy<Value = f64> {
        let limit = prop::sample::select(vec![1e-3, 1.0, 10.0, 100.0, 1e3, 1e4, 1e15]);
        let near = (limit, -2e-3..2e-3f64).prop_map(|(limit, off)| limit * (1.0 + off));
        let any = (-20..20i32, 1.0..10.0f64).prop_map(|(power, digits)| digits * 10f64.powi(power));
        (prop_oneof![near, any], prop::bool::ANY).prop_map(|(size, minus)| if minus { -size } else { size })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn a_larger_number_never_reads_as_a_smaller_one(a in numbers(), b in numbers()) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(number(&figure(low)) <= number(&figure(high)), "{low} {high}");
        }

        #[test]
        fn numbers_that_read_the_same_read_as_their_text_does(value in numbers()) {
            let text = figure(value);
            prop_assert_eq!(figure(number(&text)), text);
        }

        #[test]
        fn a_figure_is_close_to_its_number(value in numbers()) {
            prop_assert!((number(&figure(value)) / value - 1.0).abs() <= 5.0001e-3, "{value}");
        }
    }
}
