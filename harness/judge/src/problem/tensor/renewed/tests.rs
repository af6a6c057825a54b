#![allow(clippy::unwrap_used)]

use super::*;
use crate::problem::tensor::file;
use std::path::Path;

const PROBLEM: &str = r#"
entry = "take"
dims = ["n"]
ragged = false
[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["n"]
values = { normal = {} }
[[tensor]]
name = "order"
role = "in"
type = "i32"
shape = [4, "n"]
values = { permutation = true }
[[tensor]]
name = "single"
role = "in"
type = "i32"
shape = ["n"]
values = { permutation = true }
[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["n"]
[tolerance.f32]
[objective]
samples = "n"
[[workload]]
dims = { n = 100 }
"#;

/// Which of the cells, of four bytes each, are the same.
fn same(one: &[u8], other: &[u8]) -> Vec<bool> {
    one.chunks(4)
        .zip(other.chunks(4))
        .map(|(a, b)| a == b)
        .collect()
}

fn bytes(cells: Option<&Cells>) -> Vec<u8> {
    cells.unwrap().to_host().unwrap().into_owned()
}

fn count(same: &[bool]) -> usize {
    same.iter().filter(|same| **same).count()
}

#[test]
fn half_of_the_cells_are_new_and_rows_stay_whole() {
    let spec = file::parse(Path::new("problem.toml"), PROBLEM, None).unwrap();
    let case = &spec.cases[0];
    let set = draw(case, 7, 0, None, Vec::new()).unwrap();
    for (kept, is_kept) in [
        (Kept::FirstHalf, [true, false]),
        (Kept::LastHalf, [false, true]),
    ] {
        let mut renewed = set.clone();
        renew(case, 7, &mut renewed, kept).unwrap();
        assert!(renewed[3].is_none());
        for tensor in 0..2 {
            let same = same(
                &bytes(set[tensor].as_ref()),
                &bytes(renewed[tensor].as_ref()),
            );
            for (half, is_kept) in same.chunks(same.len() / 2).zip(is_kept) {
                let expected = if is_kept {
                    half.len()..half.len() + 1
                } else {
                    0..half.len() / 8
                };
                assert!(expected.contains(&count(half)), "{kept:?} {tensor}");
            }
        }
        for row in bytes(renewed[1].as_ref())
            .chunks(400)
            .chain([&*bytes(renewed[2].as_ref())])
        {
            let mut numbers: Vec<i32> = row
                .as_chunks()
                .0
                .iter()
                .map(|cell| i32::from_le_bytes(*cell))
                .collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        }
    }
    let new = [1, 2].map(|number| fresh(case, 7, &set, number).unwrap());
    let x = |inputs: &Contents| bytes(inputs[0].as_ref());
    for (one, other) in [(&set, &new[0]), (&set, &new[1]), (&new[0], &new[1])] {
        assert_eq!(count(&same(&x(one), &x(other))), 0);
    }
}

#[test]
fn a_save_renews_what_fits_and_at_least_one_case_and_a_keep_renews_all() {
    let more = "[[workload]]\ndims = { n = 1_000 }\n[[workload]]\ndims = { n = 4_000_000 }\n";
    let spec = file::parse(Path::new("problem.toml"), &format!("{PROBLEM}{more}"), None).unwrap();
    let renewed = |when, seed| {
        let cases = cases_to_renew(spec.cases.clone(), when, seed).into_iter();
        cases.collect::<Vec<_>>()
    };
    assert_eq!(renewed(When::Keep, 7), [0, 1, 2]);
    let of_saves: Vec<_> = (0..50).map(|seed| renewed(When::Save, seed)).collect();
    assert!(
        of_saves
            .iter()
            .all(|cases| cases == &[0, 1] || cases == &[2]),
        "{of_saves:?}"
    );
    assert!(
        of_saves.contains(&vec![0, 1]) && of_saves.contains(&vec![2]),
        "each case has its saves"
    );
}
