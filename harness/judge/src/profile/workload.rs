//! The workload that is profiled: the largest timed one, or the one that the user names.

use crate::probe::bounds::Demand;
use itertools::Itertools as _;

/// A timed workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileCase {
    /// As in `rows=3 cols=257 T=f16`.
    pub label: String,
    /// The kernel's function.
    pub entry: String,
    /// How large it is, compared with the problem's other ones.
    pub cells: usize,
    /// What a launch must do.
    pub demand: Demand,
    /// A run submits its timed launches as one CUDA graph.
    pub runs_as_graph: bool,
}

/// Returns the place of the workload in the list. `wanted` is its number from 1, its label, or
/// words of its label that no other one has; without it the largest is chosen. The error names what
/// there is.
pub fn choose(cases: &[ProfileCase], wanted: Option<&str>) -> Result<usize, String> {
    let Some(wanted) = wanted.map(str::trim) else {
        let largest = cases
            .iter()
            .enumerate()
            .rev()
            .max_by_key(|(_, case)| case.cells);
        return largest
            .map(|(at, _)| at)
            .ok_or_else(|| "the problem has no timed workload".into());
    };
    if let Some(at) = wanted
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1))
    {
        let all = cases.len();
        return if at < all {
            Ok(at)
        } else {
            Err(format!("there is no workload {wanted}: there are {all}"))
        };
    }
    if let Some(at) = cases.iter().position(|case| case.label == wanted) {
        return Ok(at);
    }
    let words = wanted.split_whitespace().collect_vec();
    let has_all = |case: &ProfileCase| {
        !words.is_empty()
            && words
                .iter()
                .all(|word| case.label.split_whitespace().any(|own| own == *word))
    };
    let mut found = cases
        .iter()
        .enumerate()
        .filter(|(_, case)| has_all(case))
        .map(|(at, _)| at);
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (Some(_), Some(_)) => Err(format!(
            "'{wanted}' are words of several workloads: {}",
            listed(cases, has_all)
        )),
        (None, _) => Err(format!(
            "no timed workload is '{wanted}': {}",
            listed(cases, |_| true)
        )),
    }
}

fn listed(cases: &[ProfileCase], which: impl Fn(&ProfileCase) -> bool) -> String {
    let numbered = cases.iter().enumerate().filter(|(_, case)| which(case));
    let mut all = numbered.map(|(at, case)| format!("{} is {}", at + 1, case.label));
    all.join("; ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_workload_is_named_by_number_by_label_or_by_words() {
        let case = |label: &str, cells| ProfileCase {
            label: label.into(),
            entry: "k".into(),
            cells,
            ..ProfileCase::default()
        };
        let cases = [
            case("rows=3 T=f16", 3),
            case("rows=9 T=f16", 9),
            case("rows=9 T=f32", 9),
        ];
        for (wanted, expected) in [
            (None, Ok(1)),
            (Some("3"), Ok(2)),
            (Some("rows=3 T=f16"), Ok(0)),
            (Some("T=f32"), Ok(2)),
            (
                Some("rows=9"),
                Err("several workloads: 2 is rows=9 T=f16; 3 is rows=9 T=f32"),
            ),
            (
                Some("rows=7"),
                Err("no timed workload is 'rows=7': 1 is rows=3 T=f16"),
            ),
            (Some("4"), Err("there are 3")),
            (Some("0"), Err("no timed workload is '0'")),
            (Some(""), Err("no timed workload")),
        ] {
            match (choose(&cases, wanted), expected) {
                (Ok(at), Ok(expected)) => assert_eq!(at, expected, "{wanted:?}"),
                (Err(error), Err(says)) => assert!(error.contains(says), "{wanted:?}: {error}"),
                (found, _) => panic!("{wanted:?}: {found:?}"),
            }
        }
        assert!(choose(&[], None).is_err());
    }
}
