//! A text with the figures that its placeholders stand for.

use lab_protocol::report::Measure;
use schemars::JsonSchema;
use serde::Serialize;

/// A text whose placeholders are filled.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Filled {
    /// The whole, as a person reads it.
    pub text: String,
    /// Its parts in order, so that a figure can lead to its run.
    pub pieces: Vec<Piece>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ClaimPiece")]
pub enum Piece {
    Text(String),
    Figure(Cited),
}

/// A figure in a text, and where it is from.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "CitedFigure")]
pub struct Cited {
    /// As the text shows it: `10.2×`.
    pub text: String,
    /// The id of the evidence.
    pub evidence: String,
    /// The key of the workload; null of a figure over all of them.
    pub workload: Option<String>,
    /// As in `vs_eager`.
    pub metric: String,
    pub value: f64,
    /// The ends of its interval.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Cited {
    /// The figure with its interval.
    pub fn measure(&self) -> Measure {
        let Cited {
            value, low, high, ..
        } = *self;
        Measure { value, low, high }
    }
}

impl Filled {
    /// The figures in it.
    pub fn cited(&self) -> impl Iterator<Item = &Cited> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Figure(cited) => Some(cited),
            Piece::Text(_) => None,
        })
    }
}
