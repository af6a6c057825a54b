//! JSON in which no object has a key twice.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt::{self, Formatter};

/// Reads a text in which no object has a key twice: the parser alone takes the last of them.
pub fn read_unique(text: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice::<Unique>(text)?;
    serde_json::from_slice(text)
}

/// A value without a key that stands twice.
struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Unique)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Unique;

    fn expecting(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                return Err(A::Error::custom(format!("the key '{key}' stands twice")));
            }
            seen.insert(key);
            map.next_value::<Unique>()?;
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unique, A::Error> {
        while items.next_element::<Unique>()?.is_some() {}
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_named_with_its_place() {
        let error = read_unique(br#"{ "a": 1, "b": { "c": null, "c": [3] } }"#).expect_err("twice");
        let text = error.to_string();
        assert!(
            text.starts_with("the key 'c' stands twice at line 1 column "),
            "{text}"
        );
        let same = br#"[{ "a": 1.5, "b": "\u0061" }, { "a": -2, "b": true }]"#;
        assert_eq!(read_unique(same).expect("unique")[1]["a"], -2);
    }
}
