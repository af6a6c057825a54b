//! Which expression over the dimensions an extent is, if it has these values in several cases.

/// The sizes of several cases: names, and for each case a row with the values of the names.
pub struct Sizes {
    pub names: Vec<String>,
    pub rows: Vec<Vec<i64>>,
}

/// Most of a number by which an extent is divided and rounded up.
const MOST_DIVISOR: i64 = 1024;

impl Sizes {
    /// The plainest expression that has these values, one for each case. `None` if there is none.
    pub fn expression(&self, values: &[i64]) -> Option<String> {
        let first = *values.first()?;
        if values.iter().all(|value| *value == first) {
            return Some(first.to_string());
        }
        let singles = || (0..self.names.len()).map(|at| (self.names[at].clone(), self.column(at)));
        singles()
            .find_map(|(name, column)| scaled(&name, &column, values))
            .or_else(|| singles().find_map(|(name, column)| shifted(&name, &column, values)))
            .or_else(|| {
                self.products()
                    .find_map(|(name, column)| scaled(&name, &column, values))
            })
            .or_else(|| {
                self.products()
                    .find_map(|(name, column)| shifted(&name, &column, values))
            })
            .or_else(|| singles().find_map(|(name, column)| divided(&name, &column, values)))
    }

    fn column(&self, at: usize) -> Vec<i64> {
        self.rows.iter().map(|row| row[at]).collect()
    }

    /// The products, quotients, sums and differences of two sizes, and the products of three.
    fn products(&self) -> impl Iterator<Item = (String, Vec<i64>)> {
        let count = self.names.len();
        let pairs = (0..count).flat_map(move |a| (0..count).map(move |b| (a, b)));
        let of_two = pairs.clone().flat_map(move |(a, b)| {
            let (left, right) = (&self.names[a], &self.names[b]);
            let columns = || self.column(a).into_iter().zip(self.column(b));
            let is_whole = columns().all(|(a, b)| b != 0 && a % b == 0);
            let product = columns().map(|(a, b)| a.saturating_mul(b)).collect();
            let sum = columns().map(|(a, b)| a.saturating_add(b)).collect();
            let mut found = Vec::new();
            if a <= b {
                found.push((format!("{left} * {right}"), product));
            }
            if a < b {
                found.push((format!("({left} + {right})"), sum));
            }
            if a != b {
                let difference = columns().map(|(a, b)| a.saturating_sub(b)).collect();
                found.push((format!("({left} - {right})"), difference));
            }
            if a != b && is_whole {
                found.push((
                    format!("{left} / {right}"),
                    columns().map(|(a, b)| a / b).collect(),
                ));
            }
            found
        });
        let of_three = pairs.flat_map(move |(a, b)| (b..count).map(move |c| (a, b, c)));
        let of_three = of_three.filter(|(a, b, _)| a <= b).map(move |(a, b, c)| {
            let name = format!("{} * {} * {}", self.names[a], self.names[b], self.names[c]);
            let product = |row: &Vec<i64>| row[a].saturating_mul(row[b]).saturating_mul(row[c]);
            (name, self.rows.iter().map(product).collect())
        });
        of_two.chain(of_three)
    }
}

/// `name`, `c * name` or `name / c`.
fn scaled(name: &str, column: &[i64], values: &[i64]) -> Option<String> {
    let pairs = || column.iter().copied().zip(values.iter().copied());
    let (size, value) = pairs().next()?;
    if pairs().all(|(size, value)| size == value) {
        return Some(name.to_owned());
    }
    let ratio = |a: i64, b: i64| (b != 0 && a % b == 0 && a / b > 1).then(|| a / b);
    let times = ratio(value, size)
        .filter(|c| pairs().all(|(size, value)| size.checked_mul(*c) == Some(value)));
    let over = ratio(size, value)
        .filter(|c| pairs().all(|(size, value)| value.checked_mul(*c) == Some(size)));
    let times = times.map(|c| format!("{c} * {name}"));
    times.or(over.map(|c| format!("{name} / {c}")))
}

/// `name + c` or `name - c`.
fn shifted(name: &str, column: &[i64], values: &[i64]) -> Option<String> {
    let mut differences = column.iter().zip(values).map(|(size, value)| value - size);
    let by = differences.next()?;
    differences.all(|other| other == by).then(|| match by < 0 {
        true => format!("{name} - {}", -by),
        false => format!("{name} + {by}"),
    })
}

/// `ceil(name / c)`.
fn divided(name: &str, column: &[i64], values: &[i64]) -> Option<String> {
    let by = (2..=MOST_DIVISOR).find(|by| {
        let mut pairs = column.iter().zip(values);
        pairs.all(|(size, value)| size.checked_add(by - 1).map(|sum| sum / by) == Some(*value))
    });
    by.map(|by| format!("ceil({name} / {by})"))
}

/// The dimensions of `names` that stand in a text.
pub fn named_in(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_word(c)).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_is_found_as_an_expression() {
        let sizes = Sizes {
            names: ["m", "k"].map(str::to_owned).to_vec(),
            rows: vec![vec![8, 64], vec![16, 64], vec![8, 128], vec![9, 100]],
        };
        for (values, wanted) in [
            ([7, 7, 7, 7], Some("7")),
            ([8, 16, 8, 9], Some("m")),
            ([24, 48, 24, 27], Some("3 * m")),
            ([16, 16, 32, 25], Some("k / 4")),
            ([6, 14, 6, 7], Some("m - 2")),
            ([512, 1024, 1024, 900], Some("m * k")),
            ([512, 2048, 2, 3], None),
            ([3, 6, 3, 3], Some("ceil(m / 3)")),
            ([57, 49, 121, 92], Some("(k - m) + 1")),
            ([64, 256, 64, 81], Some("m * m")),
        ] {
            assert_eq!(sizes.expression(&values).as_deref(), wanted, "{values:?}");
        }
    }
}
