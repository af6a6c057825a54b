//! Numbers in a sentence: as many digits as a person reads.

/// `11044149.977` is `11,044,150`, `0.0123456` is `0.01235`, `0.00003` is `3e-5`.
pub fn figure(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || !value.is_finite() {
        return if size == 0.0 { "0".to_owned() } else { value.to_string() };
    }
    if (1e3..1e15).contains(&size) {
        return thousands(value.round());
    }
    if (1e-3..1e3).contains(&size) {
        let before = size.log10().floor() as i32 + 1;
        return trimmed(&format!("{value:.0$}", (4 - before).max(0) as usize)).to_owned();
    }
    let text = format!("{value:.2e}");
    text.split_once('e').map_or(text.clone(), |(digits, power)| format!("{}e{power}", trimmed(digits)))
}

/// Two figures that differ are never told as the same.
pub fn pair(a: f64, b: f64) -> (String, String) {
    let (short_a, short_b) = (figure(a), figure(b));
    if a != b && short_a == short_b { (a.to_string(), b.to_string()) } else { (short_a, short_b) }
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// `-1500` is `-1,500`; of a whole number.
pub fn thousands(whole: f64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_a_person_reads_them() {
        let shown: Vec<String> =
            [11044149.977, 1031.0, 999.96, 88.19617, 1.0, 0.0123456, 3e-5, 2.1e-6, -1500.0]
                .map(figure)
                .to_vec();
        assert_eq!(
            shown,
            ["11,044,150", "1,031", "1000", "88.2", "1", "0.01235", "3e-5", "2.1e-6", "-1,500"]
        );
        assert_eq!([0.0, f64::NAN, f64::INFINITY].map(figure), ["0", "NaN", "inf"]);
        assert_eq!(figure(1e20), "1e20");
    }

    #[test]
    fn a_value_just_above_its_limit_is_not_told_as_the_limit() {
        assert_eq!(pair(88196.17, 1.0), ("88,196".into(), "1".into()));
        assert_eq!(pair(1.00001, 1.0), ("1.00001".into(), "1".into()));
    }
}
