#![allow(clippy::unwrap_used)]

mod planted_lines;

use super::*;
use crate::dtype::Dtype;
use crate::gates::Tolerance;
use crate::problem::tensor::input_values::InputValues;
use crate::problem::tensor::planted::{Extreme, PlantedText, Planting};
use crate::problem::tensor::spec::TensorRole;

const MANY: usize = 1 << 22;

fn planting(kinds: &str, extents: usize) -> Planting {
    #[derive(serde::Deserialize)]
    struct Text {
        planted: PlantedText,
    }
    let Text { planted } = toml::from_str(&format!("planted = {kinds}")).unwrap();
    planted.planting(extents, &[Dtype::F32]).unwrap()
}

fn tensor(shape: &[usize], range: Option<(f64, f64)>, planted: &Planting) -> CaseTensor {
    CaseTensor {
        name: "x".into(),
        role: TensorRole::In,
        dtype: Dtype::F32,
        shape: shape.to_vec(),
        tolerance: Tolerance::EXACT,
        values: Some(values(range)),
        planted: planted.clone(),
        ..CaseTensor::default()
    }
}

/// Values with this range, or normal ones that reach to 4.
fn values(range: Option<(f64, f64)>) -> InputValues {
    match range {
        Some((low, high)) => InputValues::Uniform { low, high },
        None => reaching(4.0),
    }
}

/// Values without a range that reach so far.
fn reaching(mean: f64) -> InputValues {
    InputValues::Normal { mean, std: 0.0 }
}

/// Numbers with no pattern in them, from `low` to `high`.
fn drawn(tensor: &CaseTensor) -> Vec<f64> {
    let (low, high) = tensor.range().unwrap_or((-1.0, 1.0));
    (0..tensor.cells())
        .map(|at| low + (high - low) * ((at as f64 * 0.618).fract() * 0.8 + 0.1))
        .collect()
}

/// The bytes of the first tensor after these patterns were planted.
fn planted_into(bytes: Vec<u8>, placed: &[Placed], tensors: &[CaseTensor], seed: u64) -> Vec<u8> {
    let mut inputs = vec![Some(Cells::Host(bytes))];
    plant(&mut inputs, placed, tensors, seed, &[0], 0).unwrap();
    inputs[0].as_ref().unwrap().to_host().unwrap().into_owned()
}

/// What a set holds after these patterns were planted.
fn planted(tensor: &CaseTensor, placed: &[Placed], seed: u64) -> Vec<f64> {
    let cells = drawn(tensor).into_iter();
    let bytes = cells.flat_map(|number| tensor.dtype.cell(number)).collect();
    let bytes = planted_into(bytes, placed, std::slice::from_ref(tensor), seed);
    bytes
        .chunks(tensor.dtype.size())
        .map(|cell| tensor.dtype.decode(cell))
        .collect()
}

fn words(placed: &[Placed]) -> Vec<String> {
    placed.iter().map(|placed| placed.pattern.word()).collect()
}

/// Every word that any set of a run holds.
fn all_words(sets: &PlantedSets, tensors: &[CaseTensor], seed: u64) -> Vec<String> {
    let further = (0..sets.further()).flat_map(|number| sets.places(Some(number), tensors, seed));
    let mut all = words(&sets.places(None, tensors, seed));
    all.extend(words(&further.collect::<Vec<_>>()));
    all.sort();
    all
}

const ORDINARY: usize = 18;

#[test]
fn a_tensor_of_many_rows_has_every_pattern_in_each_set_and_half_of_its_rows_as_drawn() {
    let planting = planting("true", 2);
    let tensors = [tensor(&[100, 50], None, &planting)];
    let sets = PlantedSets::of(&tensors, MANY, 1);
    assert_eq!(
        (sets.further(), sets.patterns(), sets.left_out),
        (0, ORDINARY, 0)
    );
    for seed in 0..20 {
        let placed = sets.places(None, &tensors, seed);
        let mut lines: Vec<usize> = placed.iter().map(|placed| placed.line).collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), ORDINARY, "each has a row of its own");
        assert!(
            lines.contains(&0) && lines.contains(&99),
            "the first and the last row are among them"
        );
        let (before, after) = (drawn(&tensors[0]), planted(&tensors[0], &placed, seed));
        let narrow = |x: f64| f64::from(x as f32);
        let rows = before.chunks(50).zip(after.chunks(50)).enumerate();
        let changed = rows.filter(|(_, (a, b))| a.iter().zip(*b).any(|(a, b)| narrow(*a) != *b));
        assert!(changed.clone().all(|(row, _)| lines.contains(&row)));
        assert_eq!(changed.count(), ORDINARY);
    }
}

#[test]
fn a_tensor_of_one_row_has_every_pattern_in_a_set_of_its_own() {
    let planting = planting("true", 1);
    let tensors = [tensor(&[33], None, &planting)];
    let sets = PlantedSets::of(&tensors, MANY, 1);
    assert_eq!(
        (sets.further(), sets.places(None, &tensors, 1)),
        (ORDINARY, Vec::new())
    );
    for number in 0..ORDINARY {
        assert_eq!(sets.places(Some(number), &tensors, 3).len(), 1);
    }
    let of_one = all_words(&sets, &tensors, 1);
    // Four rows have room for two patterns in a set.
    let planting = self::planting("true", 2);
    let tensors = [tensor(&[4, 33], None, &planting)];
    let of_four = PlantedSets::of(&tensors, MANY, 1);
    assert_eq!(of_four.further(), 9);
    assert_eq!(all_words(&of_four, &tensors, 1), of_one);
}

#[test]
fn what_hides_others_has_sets_without_others() {
    let planting = planting("[\"ties\", \"nan\", \"inf\", \"saturated\"]", 2);
    let tensors = [tensor(&[100, 50], None, &planting)];
    let sets = PlantedSets::of(&tensors, MANY, 1);
    assert_eq!(
        words(&sets.places(None, &tensors, 1))
            .iter()
            .filter(|word| word.starts_with("ties"))
            .count(),
        2
    );
    assert_eq!(sets.places(None, &tensors, 1).len(), 2);
    assert_eq!(
        all_words(&sets, &tensors, 1),
        [
            "inf_all",
            "inf_all_but_one",
            "inf_first",
            "inf_last",
            "inf_some",
            "nan_all",
            "nan_first",
            "nan_last",
            "nan_some",
            "saturated",
            "saturated_high",
            "saturated_low",
            "ties_last",
            "ties_some"
        ]
    );
    let after = planted(&tensors[0], &sets.places(Some(0), &tensors, 1), 1);
    assert!(
        after.chunks(50).any(|row| row.iter().all(|x| x.is_nan())),
        "a row of NaN"
    );
    assert!(
        after
            .chunks(50)
            .any(|row| row[0].is_nan() && row[1].is_finite()),
        "NaN in the first column"
    );
    assert!(
        after
            .chunks(50)
            .any(|row| row[49].is_nan() && row[48].is_finite()),
        "NaN in the last column"
    );
    assert!(
        after
            .chunks(50)
            .any(|row| row[49] == f64::INFINITY && row[48].is_finite())
    );
}

#[test]
fn tensors_hide_nothing_of_one_another() {
    let (of_x, of_gain) = (planting("true", 2), planting("true", 1));
    let mut tensors = [
        tensor(&[100, 50], None, &of_x),
        tensor(&[50], None, &of_gain),
    ];
    tensors[1].name = "gain".into();
    let sets = PlantedSets::of(&tensors, MANY, 1);
    assert!(
        sets.places(None, &tensors, 1)
            .iter()
            .all(|placed| placed.tensor == 0)
    );
    for number in 0..sets.further() {
        let placed = sets.places(Some(number), &tensors, 1);
        assert!(placed.iter().all(|placed| placed.tensor == 1) && placed.len() == 1);
    }
    assert_eq!(sets.further(), ORDINARY);
    // Two tensors of the same shape have patterns in different rows.
    let tensors = [
        tensor(&[100, 50], None, &of_x),
        tensor(&[100, 20], None, &of_x),
    ];
    let sets = PlantedSets::of(&tensors, MANY, 1);
    let mut rows: Vec<usize> = sets
        .places(None, &tensors, 1)
        .iter()
        .map(|placed| placed.line)
        .collect();
    rows.sort_unstable();
    rows.dedup();
    assert_eq!((rows.len(), sets.further()), (2 * ORDINARY, 0));
}

#[test]
fn lines_may_be_columns_or_everything() {
    let columns = planting("{ kinds = [\"large_last\"], along = 0 }", 2);
    let tensors = [tensor(&[30, 40], None, &columns)];
    let sets = PlantedSets::of(&tensors, MANY, 1);
    let placed = sets.places(None, &tensors, 5);
    let after = planted(&tensors[0], &placed, 5);
    let column = placed[0].line;
    let in_column: Vec<f64> = (0..30).map(|row| after[row * 40 + column]).collect();
    assert!(
        in_column[29] > 10.0 * in_column[28].abs() && in_column[29] > 5.0,
        "{in_column:?}"
    );
    let named = describe(&placed, &tensors, &[column]).unwrap();
    assert_eq!(named, format!("x[:, {column}] is planted: large_last"));
    assert!(describe(&placed, &tensors, &[(column + 1) % 40]).is_none());
    assert!(describe(&placed, &tensors, &[3, column]).is_some());

    let all = planting("{ kinds = [\"large_last\"], along = \"all\" }", 2);
    let tensors = [tensor(&[30, 40], None, &all)];
    let sets = PlantedSets::of(&tensors, MANY, 1);
    let placed = sets.places(Some(0), &tensors, 5);
    let after = planted(&tensors[0], &placed, 5);
    assert!(after[1199] > 10.0 && after[..1199].iter().all(|x| *x < 2.0));
    assert_eq!(
        describe(&placed, &tensors, &[0]).unwrap(),
        "x[:, :] is planted: large_last"
    );

    let middle = planting("{ kinds = [\"zero\"], along = 1 }", 3);
    let tensors = [tensor(&[2, 3, 4], None, &middle)];
    let sets = PlantedSets::of(&tensors, MANY, 1);
    let placed = sets.places(None, &tensors, 5);
    let zeros: Vec<usize> = planted(&tensors[0], &placed, 5)
        .iter()
        .enumerate()
        .filter(|(_, x)| **x == 0.0)
        .map(|(at, _)| at)
        .collect();
    assert!(
        zeros.len() == 3 && zeros[1] - zeros[0] == 4 && zeros[2] - zeros[1] == 4,
        "{zeros:?}"
    );
}

#[test]
fn too_many_sets_of_a_large_tensor_are_left_out_by_chance() {
    let planting = planting("true", 1);
    let tensors = [tensor(&[1000], None, &planting)];
    let kept = |seed| PlantedSets::of(&tensors, 4000, seed);
    assert_eq!((kept(1).further(), kept(1).left_out), (4, ORDINARY - 4));
    assert!(
        (0..20).any(|seed| kept(seed) != kept(1)),
        "another run has others"
    );
    assert_eq!(PlantedSets::of(&tensors, 0, 1).further(), 1);
}

#[test]
fn what_does_not_fit_is_not_planted() {
    let every = "[\"large_last\", \"ties\", \"negative\", \"denormal\", \"signed_zero\", \"nan\", \"zero\"]";
    let of_one = planting(every, 1);
    let fitting = |tensor: CaseTensor| {
        let tensors = [tensor];
        all_words(&PlantedSets::of(&tensors, MANY, 1), &tensors, 1)
    };
    assert_eq!(
        fitting(tensor(&[1], None, &of_one)),
        ["denormal", "nan_all", "negative", "signed_zero", "zero"]
    );
    let positive = tensor(&[9], Some((0.5, 1.5)), &of_one);
    assert_eq!(
        fitting(positive.clone()),
        [
            "large_last",
            "nan_all",
            "nan_first",
            "nan_last",
            "nan_some",
            "ties_last",
            "ties_some"
        ]
    );
    let counts = CaseTensor {
        dtype: Dtype::I32,
        values: Some(values(Some((0.0, 9.0)))),
        ..positive.clone()
    };
    assert_eq!(
        fitting(counts),
        ["large_last", "ties_last", "ties_some", "zero"]
    );
    let constant = CaseTensor {
        values: Some(values(Some((2.0, 2.0)))),
        ..positive
    };
    assert_eq!(
        fitting(constant),
        ["nan_all", "nan_first", "nan_last", "nan_some"]
    );
}

#[test]
fn no_planted_number_leaves_a_range() {
    let planting = planting("true", 2);
    for (dtype, range) in [
        (Dtype::F32, (0.5, 1.5)),
        (Dtype::F16, (-3.0, -1.0)),
        (Dtype::I32, (3.0, 9.0)),
        (Dtype::I32, (0.0, 1.0)),
        (Dtype::F32, (-2.0, 2.0)),
    ] {
        let tensors = [CaseTensor {
            dtype,
            ..tensor(&[40, 7], Some(range), &planting)
        }];
        let sets = PlantedSets::of(&tensors, MANY, 1);
        for seed in 0..20 {
            let after = planted(&tensors[0], &sets.places(None, &tensors, seed), seed);
            assert!(
                after.iter().all(|x| (range.0..=range.1).contains(x)),
                "{dtype} {after:?}"
            );
            let rows = || after.chunks(7);
            assert!(rows().any(|row| row.iter().all(|x| *x == range.1)), "large");
            let only = |at: usize, end: f64| {
                rows().any(|row| row[at] == end && row.iter().filter(|x| **x == end).count() == 1)
            };
            assert!(only(6, range.1) && only(0, range.1) && only(6, range.0) && only(0, range.0));
        }
    }
}

/// The numbers of a tensor with these patterns alone, by the word of each one.
fn lines_of(kinds: &str, like: CaseTensor, fill: f64) -> Vec<(String, Vec<f64>)> {
    let tensors = [CaseTensor {
        shape: vec![64],
        planted: planting(kinds, 1),
        ..like.clone()
    }];
    let sets = PlantedSets::of(&tensors, MANY, 1);
    let line = |number| {
        let placed = sets.places(Some(number), &tensors, 3);
        let cell = |at| like.dtype.cell(fill * (1.0 + f64::from(at) / 1000.0));
        let bytes = (0..64).flat_map(cell).collect();
        let bytes = planted_into(bytes, &placed, &tensors, 3);
        let cells = bytes.chunks(like.dtype.size());
        (
            words(&placed)[0].clone(),
            cells.map(|cell| like.dtype.decode(cell)).collect(),
        )
    };
    (0..sets.further()).map(line).collect()
}

#[test]
fn a_line_lies_far_below_zero_and_another_one_far_above() {
    let none = planting("false", 1);
    let like = tensor(&[64], None, &none);
    for (dtype, range, ends) in [
        (Dtype::F32, None, (-16_000.0, 16_000.0)),
        (Dtype::F16, None, (-16_000.0, 16_000.0)),
        (Dtype::F8e4m3, None, (-448.0, 448.0)),
        (Dtype::F32, Some((-2e6, 5.0)), (-2e6, 5.0)),
        (Dtype::I32, Some((-90.0, 1e9)), (-90.0, 1e9)),
        (Dtype::I8, Some((-128.0, 127.0)), (-128.0, 127.0)),
        (
            Dtype::I64,
            Some((i64::MIN as f64, 90.0)),
            (i64::MIN as f64, 90.0),
        ),
    ] {
        let lines = lines_of(
            "[\"large_negative\", \"large_positive\"]",
            CaseTensor {
                dtype,
                values: Some(values(range)),
                ..like.clone()
            },
            1.0,
        );
        assert_eq!(lines.len(), 2, "{dtype}");
        for ((word, line), (expected, end)) in lines
            .iter()
            .zip([("large_negative", ends.0), ("large_positive", ends.1)])
        {
            assert_eq!(word, expected);
            // Eight bits round by up to a sixteenth.
            let shares = if dtype.size() == 1 {
                0.85..=1.0
            } else {
                0.899..=1.0
            };
            assert!(
                line.iter().all(|x| shares.contains(&(x / end))),
                "{dtype} {word} {line:?}"
            );
            assert!(
                dtype.size() == 1 || line.iter().any(|x| *x != line[0]),
                "{line:?}"
            );
        }
    }
    let above = CaseTensor {
        values: Some(values(Some((0.5, 1.5)))),
        ..like
    };
    let lines = lines_of("[\"large_negative\", \"large_positive\"]", above, 1.0);
    assert_eq!(
        lines
            .iter()
            .map(|(word, _)| word.as_str())
            .collect::<Vec<_>>(),
        ["large_positive"]
    );
    assert!(lines[0].1.iter().all(|x| (1.349..=1.5).contains(x)));
}

#[test]
fn numbers_that_are_drawn_above_the_usual_end_are_not_cut_off_at_it() {
    let none = planting("false", 1);
    let like = CaseTensor {
        values: Some(reaching(1.1e6)),
        ..tensor(&[64], None, &none)
    };
    let lines = lines_of("true", like.clone(), 1e6);
    let line = |word: &str| {
        &lines
            .iter()
            .find(|(of, _)| of == word)
            .unwrap_or_else(|| panic!("{word}"))
            .1
    };
    let differ = |line: &[f64]| line.iter().filter(|x| **x != line[0]).count() > 60;
    for (word, sign) in [("negative", -1.0), ("positive", 1.0)] {
        assert!(
            line(word)
                .iter()
                .all(|x| (1e6..1.1e6).contains(&(sign * x)))
                && differ(line(word)),
            "{word}"
        );
    }
    for (word, sign) in [("large_negative", -1.0), ("large_positive", 1.0)] {
        assert!(
            line(word)
                .iter()
                .all(|x| (0.98e6..1.11e6).contains(&(sign * x)))
                && differ(line(word)),
            "{word}"
        );
    }
    assert!(
        lines.iter().all(|(word, _)| word != "large"),
        "there is no room above them"
    );
    let large = lines_of(
        "[\"large\"]",
        CaseTensor {
            values: Some(reaching(40.0)),
            ..like
        },
        30.0,
    );
    assert!(
        differ(&large[0].1) && large[0].1.iter().all(|x| (1e4..=16_000.0).contains(x)),
        "{large:?}"
    );
}

#[test]
fn a_largest_number_that_the_type_cannot_hold_makes_the_others_smaller() {
    let planting = planting("[\"large_last\", \"lowest_first\"]", 2);
    let tensors = [CaseTensor {
        dtype: Dtype::F16,
        ..tensor(&[8, 5], None, &planting)
    }];
    let placed = PlantedSets::of(&tensors, MANY, 1).places(None, &tensors, 1);
    let before = [half::f16::from_f32(12_000.0).to_le_bytes(); 40].concat();
    let after: Vec<f64> = planted_into(before, &placed, &tensors, 1)
        .chunks(2)
        .map(|cell| Dtype::F16.decode(cell))
        .collect();
    let row = |end: f64| {
        after
            .chunks(5)
            .find(|row| row.contains(&end))
            .unwrap()
            .to_vec()
    };
    assert_eq!((row(16_000.0)[4], row(-16_000.0)[0]), (16_000.0, -16_000.0));
    assert!(row(16_000.0)[..4].iter().all(|x| *x < 1000.0));
}

#[test]
fn ties_zeros_and_denormals_are_what_they_say() {
    let planting = planting(
        "[\"ties\", \"halves\", \"signed_zero\", \"denormal\", \"repeated\", \"saturated\"]",
        1,
    );
    for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
        let tensors = [CaseTensor {
            dtype,
            ..tensor(&[60], None, &planting)
        }];
        let sets = PlantedSets::of(&tensors, MANY, 1);
        for seed in 0..20 {
            for number in 0..sets.further() {
                let placed = sets.places(Some(number), &tensors, seed);
                let after = planted(&tensors[0], &placed, seed);
                let count = |number: f64| after.iter().filter(|x| **x == number).count();
                let largest = after.iter().copied().fold(f64::MIN, f64::max);
                let smallest = after.iter().copied().fold(f64::MAX, f64::min);
                match placed[0].pattern.kind {
                    Extreme::Ties => {
                        assert!(
                            count(largest) >= 2 && count(smallest) >= 2,
                            "{dtype} {after:?}"
                        );
                        assert!(words(&placed) != ["ties_last"] || after[59] == largest);
                    }
                    Extreme::Halves => {
                        assert!(after.iter().all(|x| (2.0 * x).fract() == 0.0));
                        assert!(after.iter().any(|x| x.fract() != 0.0), "{after:?}");
                        assert!(largest < 10.0 && smallest > -10.0, "{after:?}");
                    }
                    Extreme::SignedZero => {
                        assert!(count(0.0) == 60 && after[0].is_sign_negative());
                        assert!(after.iter().any(|x| x.is_sign_positive()));
                    }
                    Extreme::Denormal => {
                        let (step, multiples) = dtype.subnormals().unwrap();
                        let sizes = step..=step * multiples as f64;
                        assert!(
                            after.iter().all(|x| sizes.contains(&x.abs())),
                            "{dtype} {after:?}"
                        );
                        assert!(largest > 0.0 && smallest < 0.0);
                    }
                    Extreme::Repeated => {
                        let mut values = after.clone();
                        values.sort_by(f64::total_cmp);
                        values.dedup();
                        assert!(values.len() <= 4, "{values:?}");
                    }
                    _ => {
                        let end = dtype.largest();
                        let (low, high) = match words(&placed)[0].as_str() {
                            "saturated" => {
                                assert_eq!((smallest, largest), (-end, end));
                                (-end, end)
                            }
                            "saturated_low" => (-end, -0.89 * end),
                            _ => (0.89 * end, end),
                        };
                        assert!(low <= smallest && largest <= high, "{dtype} {after:?}");
                        assert!(smallest < largest);
                    }
                }
            }
        }
    }
}

/// Finds a search that starts at the lowest finite number and looks for numbers above it.
#[test]
fn in_one_line_of_infinities_a_single_cell_holds_the_last_number_before_them() {
    let none = planting("false", 1);
    let like = tensor(&[64], None, &none);
    for (range, low, high) in [
        (None, -f64::from(f32::MAX), f64::from(f32::MAX)),
        (Some((-2.0, 5.0)), -2.0, 5.0),
    ] {
        let lines = lines_of(
            "[\"inf\", \"negative_inf\", \"nan\"]",
            CaseTensor {
                values: Some(values(range)),
                ..like.clone()
            },
            1.0,
        );
        let line = |word: &str| {
            &lines
                .iter()
                .find(|(of, _)| of == word)
                .unwrap_or_else(|| panic!("{word}"))
                .1
        };
        for (word, end, other) in [
            ("inf", high, f64::INFINITY),
            ("negative_inf", low, f64::NEG_INFINITY),
        ] {
            let line = line(&format!("{word}_all_but_one"));
            let at = line.iter().position(|x| *x == end).unwrap();
            assert!(
                at > 0 && line.iter().filter(|x| **x == other).count() == 63,
                "{line:?}"
            );
        }
        assert_eq!(lines.len(), 14, "NaN has no such line");
    }
}

#[test]
fn a_seed_fixes_what_is_planted() {
    let planting = planting("true", 2);
    let tensors = [tensor(&[40, 7], None, &planting)];
    let sets = PlantedSets::of(&tensors, MANY, 1);
    let after = |seed| planted(&tensors[0], &sets.places(None, &tensors, seed), seed);
    assert_eq!(after(8), after(8));
    assert_ne!(after(8), after(9));
}
