//! The key `planted` of problem.toml: which extremes are planted into an input, and in which lines.

use crate::dtype::Dtype;
use serde::Deserialize;
use strum::{IntoStaticStr, VariantArray};

/// An extreme, as problem.toml names it. Where `values` has a range, no planted number leaves it;
/// infinities and NaN do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Extreme {
    /// Every cell times 1000, or as large as may be planted; with a range, its high end.
    Large,
    /// Every cell divided by 1000; with a range, its low end.
    Small,
    /// Zeros.
    Zero,
    /// Every cell as the first one.
    Constant,
    /// No positive number.
    Negative,
    /// No negative number.
    Positive,
    /// Every cell within a tenth of the lowest number: the whole line lies far below zero.
    LargeNegative,
    /// The same with the highest number.
    LargePositive,
    /// The first cell is 20 times as large as any other one; with a range, its high end, which no
    /// other cell has.
    LargeFirst,
    /// The same with the last cell.
    LargeLast,
    /// The first cell is as far below zero; with a range, its low end, which no other cell has.
    LowestFirst,
    /// The same with the last cell.
    LowestLast,
    /// The largest number is there twice, and so is the smallest one. In one such line, the last
    /// cell is the largest number too.
    Ties,
    /// At most four different numbers.
    Repeated,
    /// Whole numbers, and numbers that lie in the middle of two.
    Halves,
    /// Zeros of both signs, −0 first.
    SignedZero,
    /// Numbers below the smallest normal one of the type.
    Denormal,
    /// Both ends of the range; without a range, the largest finite number of the type, in both
    /// signs, and lines that lie wholly beside the lowest and the highest one.
    Saturated,
    /// Positive infinity: in the first cell, in the last one, in some, in all, and in all but one,
    /// which is the highest number.
    Inf,
    /// Negative infinity, at the same places; the one number is the lowest.
    NegativeInf,
    /// NaN: in the first cell, in the last one, in some, in all.
    Nan,
}

impl Extreme {
    /// What `planted = true` stands for. The other kinds must be named, because a kernel need not
    /// bear them unless its problem says so.
    const ORDINARY: &[Extreme] = Self::VARIANTS.split_at(Extreme::Saturated as usize).0;

    /// What is planted where problem.toml says nothing: what every kernel has to bear.
    /// `-ffast-math` and `--use_fast_math` treat denormal numbers as zero.
    fn by_default() -> impl Iterator<Item = Extreme> {
        let ordinary = Self::ORDINARY.iter().copied();
        ordinary.filter(|kind| *kind != Extreme::Denormal)
    }

    /// Whether a line of it can hide what other lines of the same inputs show, because a result
    /// depends on it alone.
    pub fn hides_others(self) -> bool {
        !Extreme::ORDINARY.contains(&self)
    }

    /// The word in problem.toml.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The number that is planted, if it is one that no range holds.
    pub fn special(self) -> Option<f64> {
        match self {
            Extreme::Inf => Some(f64::INFINITY),
            Extreme::NegativeInf => Some(f64::NEG_INFINITY),
            Extreme::Nan => Some(f64::NAN),
            _ => None,
        }
    }

    /// Whether a type has the numbers that the kind is about.
    pub fn is_in(self, dtype: Dtype) -> bool {
        match self {
            Extreme::Denormal => dtype.subnormals().is_some(),
            Extreme::SignedZero => dtype.encodes(-0.0),
            _ => self.special().is_none_or(|number| dtype.encodes(number)),
        }
    }
}

/// What a planted line of cells is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The cells along this extent.
    Extent(usize),
    /// All cells of the tensor.
    All,
}

/// The key `planted` of a tensor: `true`, a list of kinds, or a table of kinds and of the lines to
/// plant them in.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "planted is true, false, a list of kinds, or { kinds = [\"ties\"], along = 0 }. A kind is one of: large, small, \
                 zero, constant, negative, positive, large_negative, large_positive, large_first, large_last, lowest_first, \
                 lowest_last, ties, repeated, signed_zero, denormal (`ordinary` stands for these, as true does), saturated, inf, negative_inf, nan. `along` is the number of an extent, a list of them, \
                 or \"all\""
)]
pub enum PlantedText {
    Kinds(KindsText),
    Table(TableText),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableText {
    #[serde(default = "all_ordinary")]
    kinds: KindsText,
    along: Option<AlongText>,
}

fn all_ordinary() -> KindsText {
    KindsText::Ordinary(true)
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum KindsText {
    Ordinary(bool),
    Kinds(Vec<KindText>),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KindText {
    /// All that `true` stands for.
    Ordinary,
    #[serde(untagged)]
    One(Extreme),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AlongText {
    All,
    #[serde(untagged)]
    One(usize),
    #[serde(untagged)]
    Several(Vec<usize>),
}

/// What to plant into a tensor: each kind, in lines of each axis. Empty if nothing is planted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planting {
    pub kinds: Vec<Extreme>,
    pub along: Vec<Axis>,
    /// problem.toml does not ask for it. Then no planted number is larger than drawn ones, and there
    /// are only sets in which extremes of all inputs are planted together.
    pub by_default: bool,
}

impl Planting {
    /// What is planted into an input of so many extents about which problem.toml says nothing.
    pub fn by_default(extents: usize) -> Planting {
        Planting {
            kinds: Extreme::by_default().collect(),
            along: vec![Axis::Extent(extents.saturating_sub(1))],
            by_default: true,
        }
    }
}

impl PlantedText {
    /// What to plant into a tensor of so many extents, which has one of these types. The error says
    /// what makes no sense.
    pub fn planting(&self, extents: usize, types: &[Dtype]) -> Result<Planting, String> {
        let (named, along) = match self {
            PlantedText::Kinds(kinds) => (kinds, None),
            PlantedText::Table(table) => (&table.kinds, table.along.as_ref()),
        };
        let named: &[KindText] = match named {
            KindsText::Ordinary(true) => &[KindText::Ordinary],
            KindsText::Ordinary(false) => &[],
            KindsText::Kinds(kinds) => kinds,
        };
        let mut kinds = Vec::new();
        for named in named {
            let further = match named {
                KindText::Ordinary => Extreme::ORDINARY,
                KindText::One(kind) => std::slice::from_ref(kind),
            };
            if let (KindText::One(kind), Some(dtype)) = (named, types.first())
                && !types.iter().any(|dtype| kind.is_in(*dtype))
            {
                let word = kind.word();
                return Err(format!("planted: {word}: {dtype} has no such numbers"));
            }
            for kind in further {
                if !kinds.contains(kind) {
                    kinds.push(*kind);
                }
            }
        }
        let along = match along {
            None => vec![extents.saturating_sub(1)],
            Some(AlongText::All) => {
                let along = vec![Axis::All];
                return Ok(Planting {
                    kinds,
                    along,
                    by_default: false,
                });
            }
            Some(AlongText::One(axis)) => vec![*axis],
            Some(AlongText::Several(axes)) => axes.clone(),
        };
        if let Some(axis) = along.iter().find(|axis| **axis >= extents) {
            return Err(format!(
                "planted: along = {axis}, and the tensor has the extents 0 to {}",
                extents.saturating_sub(1)
            ));
        }
        if along.is_empty() {
            return Err("planted: along names no extent: leave it out for the last one".into());
        }
        Ok(Planting {
            kinds,
            along: along.into_iter().map(Axis::Extent).collect(),
            by_default: false,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn planting(text: &str) -> Result<Planting, String> {
        #[derive(Deserialize)]
        struct Text {
            planted: PlantedText,
        }
        let Text { planted } =
            toml::from_str(&format!("planted = {text}")).map_err(|e| e.to_string())?;
        planted.planting(2, &[Dtype::F32])
    }

    #[test]
    fn a_tensor_says_what_is_planted_and_along_which_extent() {
        let last = vec![Axis::Extent(1)];
        assert_eq!(
            planting("true"),
            Ok(Planting {
                kinds: Extreme::ORDINARY.to_vec(),
                along: last.clone(),
                by_default: false
            })
        );
        assert_eq!(planting("false").unwrap().kinds, []);
        let named = planting("[\"nan\", \"ties\", \"nan\"]").unwrap();
        assert_eq!(
            named,
            Planting {
                kinds: vec![Extreme::Nan, Extreme::Ties],
                along: last,
                by_default: false
            }
        );
        let both = planting("[\"ordinary\", \"nan\"]").unwrap();
        assert_eq!(both.kinds, [Extreme::ORDINARY, &[Extreme::Nan]].concat());
        let rows = planting("{ kinds = [\"large_last\"], along = 0 }").unwrap();
        assert_eq!(
            rows,
            Planting {
                kinds: vec![Extreme::LargeLast],
                along: vec![Axis::Extent(0)],
                by_default: false
            }
        );
        assert_eq!(
            planting("{ along = [0, 1] }").unwrap().along,
            [Axis::Extent(0), Axis::Extent(1)]
        );
        assert_eq!(planting("{ along = \"all\" }").unwrap().along, [Axis::All]);
        for (text, words) in [
            ("[\"tie\"]", "one of: large, small"),
            (
                "{ along = 2 }",
                "along = 2, and the tensor has the extents 0 to 1",
            ),
            ("{ along = [] }", "names no extent"),
            ("{ along = \"rows\" }", "or \"all\""),
            ("{ kind = true }", "planted is true, false"),
        ] {
            let error = planting(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn every_kind_is_named_by_its_word() {
        let named = [
            Extreme::Saturated,
            Extreme::Inf,
            Extreme::NegativeInf,
            Extreme::Nan,
        ];
        for kind in Extreme::ORDINARY.iter().chain(&named) {
            assert_eq!(
                planting(&format!("[\"{}\"]", kind.word())).unwrap().kinds,
                [*kind]
            );
        }
        assert!(named.iter().all(|kind| kind.hides_others()));
    }
}
