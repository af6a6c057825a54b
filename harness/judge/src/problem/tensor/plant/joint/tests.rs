#![allow(clippy::unwrap_used)]

use super::*;
use crate::dtype::Dtype;
use crate::problem::tensor::case_data::CaseSet;
use crate::problem::tensor::file;
use crate::problem::tensor::input_values::InputValues;
use crate::problem::tensor::plant::{Pattern, Placed};
use crate::testing;
use crate::worker::Cells;
use lab_device::DeviceInfo;
use lab_protocol::When;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const MANY: usize = 1 << 19;

/// The cases of a problem whose workloads have `rows` rows each. `x` is a matrix, `w` a vector of 30 columns.
fn cases(rows: &[usize], further: &str, of_w: &str) -> Vec<Arc<Case>> {
    let mut text = format!(
        "entry = \"f\"\ndims = [\"rows\", \"cols\"]\nragged = false\n{further}\n[objective]\nsamples = \"rows\"\n\
         [tolerance.f32]\natol = 0.0\nrtol = 0.0\n\
         [[tensor]]\nname = \"x\"\nrole = \"in\"\ntype = \"f32\"\nshape = [\"rows\", \"cols\"]\nvalues = {{ normal = {{ std = 2.0 }} }}\n\
         [[tensor]]\nname = \"w\"\nrole = \"in\"\ntype = \"f32\"\nshape = [\"cols\"]\nvalues = {{ uniform = {{ low = 1, high = 2 }} }}\n{of_w}\n\
         [[tensor]]\nname = \"y\"\nrole = \"out\"\ntype = \"f32\"\nshape = [\"rows\", \"cols\"]\n\
         [[scalar]]\nname = \"eps\"\ntype = \"f32\"\nvalue = 1e-5\n\
         [[scalar]]\nname = \"steps\"\ntype = \"i32\"\nvalue = 3\n"
    );
    for rows in rows {
        text += &format!("[[workload]]\ndims = {{ rows = {rows}, cols = 30 }}\n");
    }
    let spec = file::parse(Path::new("problem.toml"), &text, None).unwrap();
    spec.cases_of(When::Keep, &device())
}

fn device() -> DeviceInfo {
    DeviceInfo {
        emulated: true,
        ..testing::device()
    }
}

fn sets(case: &Case, seed: u64) -> PlantedSets {
    PlantedSets::of(&case.tensors, MANY, seed).with_joint(case, seed)
}

/// Each tensor with the words of what all sets of these cases hold.
fn words(cases: &[Arc<Case>], seed: u64) -> BTreeSet<(usize, String)> {
    let of = |case: &Arc<Case>| -> Vec<Placed> {
        let sets = sets(case, seed);
        let numbers = 0..sets.further();
        numbers
            .flat_map(|number| sets.places(Some(number), &case.tensors, seed))
            .collect()
    };
    let placed = cases.iter().flat_map(of);
    placed
        .map(|placed| (placed.tensor, placed.pattern.word()))
        .collect()
}

#[test]
fn without_a_word_each_kind_of_each_input_comes_in_each_run() {
    for rows in [
        &[100][..],
        &[3, 1, 40],
        &[
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
        ],
    ] {
        let cases = cases(rows, "", "");
        let all = words(&cases, 7);
        // A range from 1 to 2 holds no zero and no negative number.
        let [of_x, of_w] = [0, 1].map(|tensor| all.iter().filter(|(of, _)| *of == tensor).count());
        assert_eq!((of_x, of_w), (16, 12), "{rows:?}: {all:?}");
        let most = cases
            .iter()
            .map(|case| sets(case, 7).further())
            .max()
            .unwrap();
        assert!(most * cases.len() < 17 + cases.len(), "{rows:?}: {most}");
        assert!(cases.iter().all(|case| sets(case, 7).everywhere.is_empty()));
    }
}

#[test]
fn extremes_of_all_inputs_meet_in_a_set() {
    let cases = cases(&[1], "", "");
    let sets = sets(&cases[0], 3);
    let meet = (0..sets.further()).map(|number| sets.places(Some(number), &cases[0].tensors, 3));
    let meet: Vec<Vec<usize>> = meet
        .map(|placed| placed.iter().map(|p| p.tensor).collect())
        .collect();
    assert!(meet.iter().all(|tensors| tensors == &[0, 1]), "{meet:?}");
}

#[test]
fn a_problem_or_a_tensor_can_say_no_and_ask_for_more() {
    let none = cases(&[100], "planted = false", "");
    assert_eq!(sets(&none[0], 1).further(), 0);
    let no_w = cases(&[100], "", "planted = false");
    assert!(words(&no_w, 1).iter().all(|(tensor, _)| *tensor == 0));
    let more = cases(&[100], "", "planted = [\"ordinary\", \"nan\"]");
    let all = words(&more, 1);
    assert!(all.contains(&(1, "nan_first".into())), "{all:?}");
    assert!(all.iter().any(|(tensor, _)| *tensor == 0), "{all:?}");
    let large = cases(&[20_000, 10_000], "", "");
    let of_large: Vec<usize> = large.iter().map(|case| sets(case, 1).further()).collect();
    assert_eq!(of_large, [0, 1], "only the smallest has a set");
}

#[test]
fn large_numbers_of_all_inputs_that_ask_for_them_meet_in_every_cell() {
    let asked = "planted = true";
    let both = cases(&[40], "", asked);
    let mut tensors = both[0].tensors.clone();
    tensors[0].planted = tensors[1].planted.clone();
    let case = Case {
        tensors,
        ..(*both[0]).clone()
    };
    let sets = sets(&case, 5);
    let all = (0..sets.further()).map(|number| sets.places(Some(number), &case.tensors, 5));
    let whole =
        |placed: &&Placed| placed.axis == Axis::All && placed.pattern.word() == "large_positive";
    let meet = all.map(|places| places.iter().filter(whole).count());
    assert_eq!(meet.filter(|of_all| *of_all == 2).count(), 1);
    let one = cases(&[40], "", asked);
    let one = self::sets(&one[0], 5);
    let alone = one.joint.iter().flatten();
    assert!(alone.clone().count() > 0);
    assert!(alone.into_iter().all(|group| group.axis != Axis::All));
}

#[test]
fn whole_numbers_get_the_ends_of_their_range() {
    let text = "entry = \"f\"\ndims = [\"n\"]\n[objective]\nsamples = \"n\"\n\
        [[tensor]]\nname = \"x\"\nrole = \"in\"\ntype = \"i32\"\nshape = [\"n\", 8]\n\
        values = { integers = { low = 0, high = 1000 } }\n\
        [[tensor]]\nname = \"y\"\nrole = \"out\"\ntype = \"i32\"\nshape = [\"n\"]\n\
        [[workload]]\ndims = { n = 64 }\n";
    let spec = file::parse(Path::new("problem.toml"), text, None).unwrap();
    let words = words(&spec.cases_of(When::Keep, &device()), 1);
    for kind in ["large", "small", "large_positive", "large_last", "zero"] {
        assert!(words.contains(&(0, kind.into())), "{kind}: {words:?}");
    }
}

#[test]
fn no_number_is_larger_than_a_drawn_one() {
    let cases = cases(&[1], "", "");
    let tensor = &cases[0].tensors[0];
    let Some(InputValues::Normal { .. }) = tensor.values else {
        panic!("{tensor:?}");
    };
    assert!(tensor.planted.by_default);
    assert!(
        !tensor
            .planted
            .kinds
            .iter()
            .any(|kind| kind.word() == "denormal")
    );
    assert!(
        !Pattern::of(tensor.planted.kinds[0], 30, tensor)
            .iter()
            .any(|p| p.word() == "large")
    );
}

#[test]
fn scalars_of_a_joint_set_vary_and_a_set_that_the_problem_cannot_bear_is_drawn_plainly() {
    let cases = cases(&[1], "", "");
    let case = &cases[0];
    let plain = case.draw_scalars(1, 0);
    let expected = |number: f32| {
        let cells = number.to_le_bytes().repeat(case.tensors[2].cells());
        vec![None, None, Some(Cells::Host(cells))]
    };
    let places = sets(case, 1).places(Some(0), &case.tensors, 1);
    let set = |attempt| {
        let mut set = CaseSet {
            scalars: plain.clone(),
            planted: places.clone(),
            is_joint: true,
            attempt,
            ..CaseSet::default()
        };
        set.bear(case, 1);
        set
    };
    let mut first = set(0);
    let eps = Dtype::F32.decode(&first.scalars[0]);
    assert!((2.4e-6..7.6e-6).contains(&eps), "{eps}");
    assert_eq!(first.scalars[1], plain[1], "a whole number stays");
    let said = first.other_scalars(case).unwrap();
    assert!(
        said.starts_with("eps is ") && said.contains(" there, for a test (fixed = true "),
        "{said}"
    );
    first.expected = expected(1.0);
    assert!(first.is_defined(case).unwrap());
    first.expected = expected(f32::INFINITY);
    assert!(!first.is_defined(case).unwrap());
    let second = set(1);
    assert!(second.planted.iter().all(|placed| !placed.has_zeros()));
    let mut third = set(2);
    assert_eq!((third.planted.len(), &third.scalars), (0, &plain));
    third.expected = expected(f32::NAN);
    assert!(
        third.is_defined(case).unwrap(),
        "drawn inputs may have such a result"
    );
}
