//! Numbers as text: as many digits as a person reads. One formatter for each place where numbers
//! stand:
//!
//! | place | function | 42 | 165210.4 | 0.00423 |
//! |---|---|---|---|---|
//! | a sentence | [`figure`] | `42` | `165,210` | `0.00423` |
//! | a measure beside the ends of its interval | [`count`] | `42.00` | `165,210` | `0.0042` |
//! | an axis or a narrow column | [`short`] | `42` | `165.2k` | `0.004` |
//! | a gate's value or limit | [`gate`] | `42` | `165,210.4` | `4.2e-3` |
//!
//! All of them round first and choose the form by the rounded number, so a larger number never
//! reads as a smaller one. NaN is `NaN`; infinities are `inf` and `-inf`.

/// A number with a noun.
///
/// ```
/// use lab_text::figures::counted;
/// assert_eq!([1, 6].map(|count| counted(count, "run")), ["1 run", "6 runs"]);
/// ```
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A number in a sentence. Zeros at the end of a fraction are left out.
///
/// | size of the rounded number | form |
/// |---|---|
/// | below 0.001 | 3 significant digits with a power of ten |
/// | from 0.001 to below 1000 | 4 significant digits |
/// | from 1000 to below 10¹⁵ | whole, with a comma before each 3 digits |
/// | from 10¹⁵ on | 3 significant digits with a power of ten |
///
/// ```
/// use lab_text::figures::figure;
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
    let shown = if four.abs() < 1e-3 {
        rounded(value, 3)
    } else {
        four
    };
    if shown.abs() < 1e-3 || value.round().abs() >= 1e15 {
        return scientific(value);
    }
    if shown.abs() >= 1e3 {
        return thousands(value);
    }
    let digits_before = shown.abs().log10().floor() as i32 + 1;
    trimmed(&format!("{shown:.0$}", (4 - digits_before).max(0) as usize)).to_owned()
}

/// The texts of two numbers that stand beside each other. Two that differ never read the same: they
/// then have all their digits.
///
/// ```
/// use lab_text::figures::pair;
/// assert_eq!(pair(88_196.17, 1.0), ("88,196".into(), "1".into()));
/// assert_eq!(pair(1.00001, 1.0), ("1.00001".into(), "1".into()));
/// ```
pub fn pair(a: f64, b: f64) -> (String, String) {
    let (short_a, short_b) = (figure(a), figure(b));
    if a != b && short_a == short_b {
        (a.to_string(), b.to_string())
    } else {
        (short_a, short_b)
    }
}

/// The texts of numbers that stand beside each other, in this form. Two that differ never read the
/// same: all of them then have further digits.
///
/// ```
/// use lab_text::figures::{count, distinct, gate};
/// assert_eq!(distinct([165_210.4, 164_880.0], count), ["165,210", "164,880"]);
/// assert_eq!(distinct([42.004, 42.001], count), ["42.004", "42.001"]);
/// assert_eq!(distinct([1.00001, 1.0], gate), ["1.00001", "1.00000"]);
/// ```
pub fn distinct<const N: usize>(values: [f64; N], form: impl Fn(f64) -> String) -> [String; N] {
    let texts = values.map(form);
    let differ = |texts: &[String; N]| differ(texts, &values);
    if differ(&texts) {
        return texts;
    }
    let largest = values
        .iter()
        .map(|value| value.abs())
        .filter(|size| size.is_finite())
        .fold(0.0, f64::max);
    let finer = (4..=MOST_DIGITS).map(|digits| values.map(|value| aligned(value, largest, digits)));
    finer
        .into_iter()
        .find(differ)
        .unwrap_or_else(|| values.map(|value| value.to_string()))
}

/// Whether the texts of two values differ wherever the values do.
fn differ<const N: usize>(texts: &[String; N], values: &[f64; N]) -> bool {
    let is_told =
        |a: usize, b: usize| texts[a] != texts[b] || values[a] == values[b] || values[a].is_nan();
    (0..N).all(|a| (0..a).all(|b| is_told(a, b)))
}

/// The significant digits that tell every two numbers apart.
const MOST_DIGITS: usize = 17;

/// A number with as many decimals as give `largest` so many significant digits.
fn aligned(value: f64, largest: f64, digits: usize) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    if !(1e-3..1e15).contains(&largest) {
        return format!("{value:.0$e}", digits - 1);
    }
    let before = largest.log10().floor() as i32 + 1;
    grouped(&format!(
        "{value:.0$}",
        (digits as i32 - before).max(0) as usize
    ))
}

/// A ratio less 1 as a signed percentage without its unit: with one decimal, or with as many as it
/// takes for it to be told from zero.
///
/// ```
/// use lab_text::figures::percent;
/// assert_eq!([0.031, -0.0004, 0.0, 2e-9].map(percent), ["+3.1", "-0.04", "+0.0", "+2e-7"]);
/// ```
pub fn percent(ratio: f64) -> String {
    percents([ratio]).concat()
}

/// The same for ratios that stand beside each other. All have the same number of decimals, and two
/// that differ never read the same.
pub fn percents<const N: usize>(ratios: [f64; N]) -> [String; N] {
    // Minus zero would read `-0.0`.
    let values = ratios.map(|ratio| ratio * 100.0 + 0.0);
    let is_zero = |text: &String| !text.contains(|digit: char| ('1'..='9').contains(&digit));
    let tells = |texts: &[String; N]| {
        let mut beside = texts.iter().zip(values);
        differ(texts, &values) && beside.all(|(text, value)| value == 0.0 || !is_zero(text))
    };
    let decimals = (1..=5usize).map(|decimals| values.map(|value| format!("{value:+.decimals$}")));
    let powers = (0..MOST_DIGITS).map(|digits| values.map(|value| format!("{value:+.digits$e}")));
    decimals
        .chain(powers)
        .find(tells)
        .unwrap_or_else(|| values.map(|value| format!("{value:+}")))
}

/// From this ratio on a change is said as a factor: 45,810 percent more say less than 459 times.
pub const FACTOR: f64 = 10.0;

/// Changes that stand beside each other, each a ratio less 1: percentages without their unit, and the
/// unit. From [`FACTOR`] on, which the first of them decides, factors, whose unit is empty.
///
/// ```
/// use lab_text::figures::changes;
/// assert_eq!(changes([0.031, 0.028]), (["+3.1".into(), "+2.8".into()], " %"));
/// assert_eq!(changes([458.1, 424.5]), (["×459.1".into(), "×425.5".into()], ""));
/// ```
pub fn changes<const N: usize>(ratios: [f64; N]) -> ([String; N], &'static str) {
    let is_factor = ratios.first().is_some_and(|ratio| ratio + 1.0 >= FACTOR);
    if !is_factor {
        return (percents(ratios), " %");
    }
    let factors = distinct(ratios.map(|ratio| ratio + 1.0), figure);
    (factors.map(|factor| format!("×{factor}")), "")
}

/// A change with the half width of its interval: `+3.1 % ± 0.3`, `×12.5 ± 0.2`.
///
/// ```
/// use lab_text::figures::change;
/// assert_eq!(change(0.031, Some(0.003)), "+3.1 % ± 0.3");
/// assert_eq!(change(11.5, Some(0.2)), "×12.5 ± 0.2");
/// ```
pub fn change(ratio: f64, spread: Option<f64>) -> String {
    let ([text], unit) = changes([ratio]);
    let spread = spread.map(|spread| match unit {
        "" => figure(spread),
        // A spread has no sign.
        _ => percent(spread).trim_start_matches('+').to_owned(),
    });
    let spread = spread.map_or_else(String::new, |spread| format!(" ± {spread}"));
    format!("{text}{unit}{spread}")
}

/// A measure, with as many decimals as its interval's ends have: whole from 100 on, 2 decimals from
/// 1 on, 4 decimals from 0.0001 on.
///
/// ```
/// use lab_text::figures::count;
/// assert_eq!([165_210.4, 99.996, 42.0, 0.0042, 0.0].map(count), ["165,210", "100", "42.00", "0.0042", "0"]);
/// ```
pub fn count(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || !value.is_finite() {
        return figure(value);
    }
    if size.round() >= 1e15 {
        return format!("{value:.3e}");
    }
    if with_decimals(size, 2) >= 100.0 {
        return thousands(value);
    }
    if with_decimals(size, 4) >= 1.0 {
        return format!("{value:.2}");
    }
    if rounded(size, 3) >= 1e-4 {
        format!("{value:.4}")
    } else {
        format!("{value:.2e}")
    }
}

/// A number on an axis or in a narrow column, no wider than 6 characters up to 10¹²: `k`, `M` and
/// `G` stand for thousands, millions and 10⁹. From 1000 to below 10,000 it is whole with a comma,
/// which is no wider.
///
/// ```
/// use lab_text::figures::short;
/// assert_eq!([165_210.4, 1650.3, 999_960.0, 1.5].map(short), ["165.2k", "1,650", "1M", "1.5"]);
/// ```
pub fn short(value: f64) -> String {
    let (part, unit) = match value.abs() {
        _ if !value.is_finite() => return value.to_string(),
        s if s >= 999.95e9 => return format!("{value:.1e}"),
        s if s >= 999.95e6 => (value / 1e9, "G"),
        s if s >= 999.95e3 => (value / 1e6, "M"),
        s if s >= 9999.5 => (value / 1e3, "k"),
        s if s >= 999.5 => return thousands(value),
        s if s >= 100.0 => return format!("{value:.0}"),
        s if s >= 1.0 => (value, ""),
        0.0 => return "0".to_owned(),
        s if s >= 1e-3 => return format!("{value:.3}"),
        _ => return format!("{value:.1e}"),
    };
    let text = if part.abs() < 9.995 {
        format!("{part:.2}")
    } else {
        format!("{part:.1}")
    };
    format!("{}{unit}", trimmed(&text))
}

/// A gate's value or its limit: whole numbers below 10⁹ whole, others from 0.01 to 10⁶ with up to 4
/// decimals, all else with a power of ten.
///
/// ```
/// use lab_text::figures::gate;
/// assert_eq!([0.0, 1024.0, 0.125, 2.1e-6].map(gate), ["0", "1,024", "0.125", "2.1e-6"]);
/// ```
pub fn gate(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    if value.fract() == 0.0 && value.abs() < 1e9 {
        return thousands(value);
    }
    if (1e-2..1e6).contains(&value.abs()) {
        return grouped(trimmed(&format!("{value:.4}")));
    }
    format!("{value:.1e}")
}

/// A finite number rounded to a whole one, with a comma before each 3 digits.
///
/// ```
/// assert_eq!(lab_text::figures::thousands(-1499.6), "-1,500");
/// ```
pub fn thousands(value: f64) -> String {
    // Minus zero would read `-0`.
    grouped(&format!("{:.0}", value.round() + 0.0))
}

/// A decimal number's text with a comma before each 3 digits of its whole part.
fn grouped(text: &str) -> String {
    let (sign, digits) = text
        .strip_prefix('-')
        .map_or(("", text), |digits| ("-", digits));
    let whole = digits.find('.').unwrap_or(digits.len());
    let mut grouped = sign.to_owned();
    for (index, digit) in digits.char_indices() {
        if index > 0 && index < whole && (whole - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number's digits without the zeros that end a fraction: `1.50` is `1.5`, `2.0` is `2`, `100`
/// stays.
pub fn trimmed(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

/// A finite number rounded to so many significant digits.
fn rounded(value: f64, digits: usize) -> f64 {
    // Decimal rounding is exact only in decimal digits. Text of a finite number always parses.
    format!("{value:.0$e}", digits - 1).parse().unwrap_or(value)
}

/// A finite number rounded to so many decimals.
fn with_decimals(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

fn scientific(value: f64) -> String {
    let text = format!("{value:.2e}");
    text.split_once('e')
        .map_or(text.clone(), |(digits, power)| {
            format!("{}e{power}", trimmed(digits))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_are_as_a_person_reads_them() {
        let shown: Vec<String> = [
            11044149.977,
            1031.0,
            999.96,
            88.19617,
            1.0,
            0.0123456,
            3e-5,
            2.1e-6,
            -1500.0,
        ]
        .map(figure)
        .to_vec();
        assert_eq!(
            shown,
            [
                "11,044,150",
                "1,031",
                "1,000",
                "88.2",
                "1",
                "0.01235",
                "3e-5",
                "2.1e-6",
                "-1,500"
            ]
        );
        assert_eq!(
            [0.0, -0.0, f64::NAN, f64::INFINITY].map(figure),
            ["0", "0", "NaN", "inf"]
        );
        assert_eq!(figure(1e20), "1e20");
    }

    #[test]
    fn a_number_that_rounds_to_a_limit_has_the_form_beyond_it() {
        assert_eq!(
            [999.94, 999.95, 999.96, 1000.0, 1000.4].map(figure)[1..],
            ["1,000"; 4]
        );
        assert_eq!(figure(999.94), "999.9");
        assert_eq!([9.9994e-4, 9.9996e-4, 1e-3].map(figure), ["0.001"; 3]);
        assert_eq!(figure(9.994e-4), "9.99e-4");
        assert_eq!(
            [999_999_999_999_999.4, 999_999_999_999_999.6].map(figure),
            ["999,999,999,999,999", "1e15"]
        );
    }

    #[test]
    fn a_value_just_above_its_limit_is_not_told_as_the_limit() {
        assert_eq!(pair(88196.17, 1.0), ("88,196".into(), "1".into()));
        assert_eq!(pair(1.00001, 1.0), ("1.00001".into(), "1".into()));
    }

    #[test]
    fn measures_and_axes_and_gates_have_their_own_rules() {
        let counts: Vec<String> = [
            165210.4,
            1234567.0,
            42.0,
            0.0042,
            0.0,
            1e-7,
            f64::NAN,
            -5432.1,
        ]
        .map(count)
        .to_vec();
        assert_eq!(
            counts,
            [
                "165,210",
                "1,234,567",
                "42.00",
                "0.0042",
                "0",
                "1.00e-7",
                "NaN",
                "-5,432"
            ]
        );
        assert_eq!(
            [99.994, 99.996, 0.99994, 0.99996, 9.996e-5].map(count),
            ["99.99", "100", "0.9999", "1.00", "0.0001"]
        );
        let shorts: Vec<String> = [165210.4, 42000.0, 999.0, 1.5, 0.25, 2.5e9, 999_960.0]
            .map(short)
            .to_vec();
        assert_eq!(
            shorts,
            ["165.2k", "42k", "999", "1.5", "0.250", "2.5G", "1M"]
        );
        let near = [
            1650.3, 1550.0, 999.7, 9999.4, 9999.6, -1234.0, 1.55e6, 1.55, 9.996, 99.96,
        ]
        .map(short);
        let wanted = [
            "1,650", "1,550", "1,000", "9,999", "10k", "-1,234", "1.55M", "1.55", "10", "100",
        ];
        assert_eq!(near, wanted, "two that differ by a tenth read as two");
        let gates: Vec<String> = [0.0, 2.1e-6, 1024.0, 0.125, f64::NAN, 165_210.4]
            .map(gate)
            .to_vec();
        assert_eq!(gates, ["0", "2.1e-6", "1,024", "0.125", "NaN", "165,210.4"]);
    }

    #[test]
    fn numbers_that_differ_read_differently_beside_each_other() {
        assert_eq!(
            distinct([5.004, 5.001, 5.009], count),
            ["5.004", "5.001", "5.009"]
        );
        assert_eq!(
            distinct([142_050.2, 142_050.4], count),
            ["142,050.2", "142,050.4"]
        );
        assert_eq!(distinct([0.99999, 1.0], gate), ["0.99999", "1.00000"]);
        assert_eq!(distinct([7.0, 7.0], count), ["7.00", "7.00"]);
        assert_eq!(distinct([f64::NAN, 1.0], gate), ["NaN", "1"]);
        assert_eq!(
            percents([0.0002, -0.002, 0.003]),
            ["+0.02", "-0.20", "+0.30"]
        );
        assert_eq!(percents([0.031, 0.028, 0.034]), ["+3.1", "+2.8", "+3.4"]);
        assert_eq!(percents([0.0, -0.0]), ["+0.0", "+0.0"]);
    }

    fn number(text: &str) -> f64 {
        let (digits, unit) = match text.chars().last() {
            Some('k') => (&text[..text.len() - 1], 1e3),
            Some('M') => (&text[..text.len() - 1], 1e6),
            Some('G') => (&text[..text.len() - 1], 1e9),
            _ => (text, 1.0),
        };
        digits
            .replace(',', "")
            .parse::<f64>()
            .expect("a figure is a number")
            * unit
    }

    /// Numbers of every size, many of them close to a limit between two forms.
    fn numbers() -> impl Strategy<Value = f64> {
        let limit = prop::sample::select(vec![1e-3, 1.0, 10.0, 100.0, 1e3, 1e4, 1e15]);
        let near = (limit, -2e-3..2e-3f64).prop_map(|(limit, off)| limit * (1.0 + off));
        let any = (-20..20i32, 1.0..10.0f64).prop_map(|(power, digits)| digits * 10f64.powi(power));
        (prop_oneof![near, any], prop::bool::ANY)
            .prop_map(|(size, minus)| if minus { -size } else { size })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn a_larger_number_never_reads_as_a_smaller_one(a in numbers(), b in numbers()) {
            let (low, high) = (a.min(b), a.max(b));
            for form in [figure, count, short, gate] {
                let (low_text, high_text) = (form(low), form(high));
                prop_assert!(number(&low_text) <= number(&high_text), "{low}: {low_text}, {high}: {high_text}");
            }
        }

        #[test]
        fn no_two_that_differ_read_the_same(a in numbers(), off in prop::sample::select(vec![0.0, 1e-9, 1e-6, 1e-3])) {
            let b = a * (1.0 + off);
            for form in [figure, count, short, gate] {
                let [one, other] = distinct([a, b], form);
                prop_assert!(a == b || one != other, "{a}, {b}: {one}");
            }
            let [one, other] = percents([off, off * 1.001]);
            prop_assert!(off == 0.0 || one != other, "{off}: {one}");
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
