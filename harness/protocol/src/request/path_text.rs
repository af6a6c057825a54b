//! Paths in JSON: text, or the bytes of a path that is not UTF-8.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A path as JSON holds it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub enum PathText {
    Text(String),
    Bytes(Vec<u8>),
}

/// A path, or several.
pub trait Paths: Sized {
    type Text: Serialize + DeserializeOwned;
    fn to_text(&self) -> Self::Text;
    fn of_text(text: Self::Text) -> Self;
}

impl Paths for PathBuf {
    type Text = PathText;

    fn to_text(&self) -> PathText {
        match self.to_str() {
            Some(text) => PathText::Text(text.to_owned()),
            None => PathText::Bytes(self.as_os_str().as_bytes().to_owned()),
        }
    }

    fn of_text(text: PathText) -> PathBuf {
        match text {
            PathText::Text(text) => text.into(),
            PathText::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

impl Paths for Option<PathBuf> {
    type Text = Option<PathText>;

    fn to_text(&self) -> Self::Text {
        self.as_ref().map(Paths::to_text)
    }

    fn of_text(text: Self::Text) -> Self {
        text.map(Paths::of_text)
    }
}

impl Paths for Vec<PathBuf> {
    type Text = Vec<PathText>;

    fn to_text(&self) -> Self::Text {
        self.iter().map(Paths::to_text).collect()
    }

    fn of_text(text: Self::Text) -> Self {
        text.into_iter().map(Paths::of_text).collect()
    }
}

pub fn serialize<S: Serializer>(paths: &impl Paths, to: S) -> Result<S::Ok, S::Error> {
    paths.to_text().serialize(to)
}

pub fn deserialize<'de, P: Paths, D: Deserializer<'de>>(from: D) -> Result<P, D::Error> {
    P::Text::deserialize(from).map(P::of_text)
}
