//! What expressions are worth, and how a mistake in one is named.

#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn dimensions_make_numbers() {
    let expression = Expression::parse("2 * rows * (cols + 1)", &["cols", "rows"]).unwrap();
    let value = expression.extent(|name| if name == "rows" { 3.0 } else { 7.0 });
    assert_eq!(value, Ok(48));
}

#[test]
fn numbers_may_have_an_exponent() {
    for (text, value) in [
        ("1e-3 * k", 0.064),
        ("k*1E+2", 6400.0),
        ("2.5e-1", 0.25),
        (".5e1+k", 69.0),
        ("1e-3*(k+1e3)", 1.064),
        ("k - 1e0", 63.0),
        ("exp(0) + e5 + k1e3", 3.0),
        ("1e-3 / sqrt(k)", 0.000125),
        ("ceil(k / 48) + floor(k / 48)", 3.0),
    ] {
        let expression = Expression::parse(text, &["k", "e5", "k1e3"]).unwrap();
        let value_of = |name: &str| if name == "k" { 64.0 } else { 1.0 };
        let got = expression.value(value_of).unwrap();
        assert!((got - value).abs() <= 1e-12 * value, "{text} is {got}");
    }
    // Names that begin as a function or a constant does.
    for (text, value) in [("max_n * 2", 6.0), ("e+minor", 6.0), ("max(e, 2) * e", 9.0)] {
        let expression = Expression::parse(text, &["max_n", "e", "minor"]).unwrap();
        assert_eq!(expression.value(|_| 3.0), Ok(value), "{text}");
    }
    let error = Expression::parse("1e999 * k", &["k"])
        .map(|_| ())
        .unwrap_err();
    assert_eq!(error, "'1e999 * k': 1e999 is too large");
    for wrong in ["1e", "1e-", "2 k", "1e5e5"] {
        assert!(Expression::parse(wrong, &["k"]).is_err(), "{wrong}");
    }
}

#[test]
fn a_comparison_is_one_or_zero_and_binds_weaker_than_arithmetic() {
    for (text, value) in [
        ("m * k % 48", 16.0),
        ("m % 48 + 1", 17.0),
        ("8 + m % 48", 24.0),
        ("m - 60 + 1", 5.0),
        ("m * k <= 64 * 4", 1.0),
        ("m * k < 64 * 4", 0.0),
        ("m >= 65 || k == 4", 1.0),
        ("m != 64 && k > 3", 0.0),
        ("m % 32 == 0 && m / k >= 16", 1.0),
        ("-m < -k", 1.0),
        ("(m < k) + (k < m)", 1.0),
        ("max(m, k) <= 64", 1.0),
    ] {
        let expression = Expression::parse(text, &["m", "k"]).unwrap();
        let value_of = |name: &str| if name == "m" { 64.0 } else { 4.0 };
        assert_eq!(expression.value(value_of), Ok(value), "{text}");
    }
}

#[test]
fn a_mistake_is_named() {
    let error = |text: &str| {
        Expression::parse(text, &["rows", "cols"])
            .map(|_| ())
            .unwrap_err()
    };
    assert_eq!(
        error("rows * col"),
        "'rows * col' names 'col', which is not a dimension (did you mean 'cols'?)"
    );
    assert!(error("rows * ").starts_with("'rows * ' is not an expression: "));
    let twice = error("rows +* 2");
    assert!(
        twice.starts_with("'rows +* 2' is not an expression: ") && !twice.contains('{'),
        "{twice}"
    );
    let half = Expression::parse("rows / 2", &["rows"]).unwrap();
    assert_eq!(
        half.extent(|_| 3.0).unwrap_err(),
        "'rows / 2' is 1.5; an extent must be a whole number from 1 to 2147483647"
    );
    let root = Expression::parse("sqrt(0 - rows)", &["rows"]).unwrap();
    assert_eq!(
        root.value(|_| 2.0).unwrap_err(),
        "'sqrt(0 - rows)' is no number: it divides by zero, or has no real value"
    );
    for (text, divided) in [
        ("1 / (rows - 1)", 1),
        ("100 / (rows - 1) > 1", 100),
        ("7 % (rows - 1) == 0", 7),
        ("max(3, 9 % (rows - 1)) ^ 0 >= 2", 9),
        ("rows != 1 || 5 / (rows - 1) < 2", 5),
    ] {
        let expression = Expression::parse(text, &["rows"]).unwrap();
        let why = format!("'{text}' divides {divided} by zero");
        assert_eq!(expression.value(|_| 1.0), Err(why));
    }
    for text in ["rows != 1 && 5 / (rows - 1) < 2", "rows == 1 && 0"] {
        let expression = Expression::parse(text, &["rows"]).unwrap();
        assert_eq!(expression.value(|_| 1.0), Ok(0.0), "{text}");
    }
    for text in [
        "1e308 * 1e308 > rows",
        "rows != 1e308 * 1e308",
        "min(1e308 * 1e308, rows)",
        "1e308 * 1e308 || rows",
        "rows && 1e308 * 1e308",
        "7 / (rows * 1e308 * (rows * 1e308))",
    ] {
        let expression = Expression::parse(text, &["rows"]).unwrap();
        let why = format!("'{text}' is infinite: it is too large");
        assert_eq!(expression.value(|_| 1.0), Err(why));
    }
    let guarded = Expression::parse("rows == 1 || 5 % (rows - 1) < 2", &["rows"]).unwrap();
    assert_eq!(guarded.value(|_| 1.0), Ok(1.0));
    let power = Expression::parse("rows ^ rows", &["rows"]).unwrap();
    assert!(power.value(|_| 1000.0).unwrap_err().contains("is infinite"));
    assert!(error(&"(".repeat(100_000)).contains("at most 1000 bytes"));
    assert!(error(&"(".repeat(999)).contains("is not an expression"));
    let signs = format!("{}rows", "-".repeat(990));
    assert_eq!(
        Expression::parse(&signs, &["rows"]).unwrap().value(|_| 7.0),
        Ok(7.0)
    );
    let roots = format!("{}rows", "sqrt ".repeat(190));
    assert!(
        Expression::parse(&roots, &["rows"])
            .unwrap()
            .value(|_| 7.0)
            .is_ok_and(|root| root >= 1.0)
    );
    let deep = format!("{}rows{}", "(".repeat(498), ")".repeat(498));
    assert_eq!(
        Expression::parse(&deep, &["rows"]).unwrap().value(|_| 7.0),
        Ok(7.0)
    );
}

proptest::proptest! {
    #[test]
    fn any_text_is_an_expression_or_refused(text in "[-+*/^%().,{}|&!<>=a-z0-9 é]{0,24}") {
        if let Ok(expression) = Expression::parse(&text, &["n", "m"]) {
            let _ = expression.value(|_| 3.0);
        }
    }
}
