//! The texts inside a JSON value.

use serde_json::Value;
use std::mem;

/// Changes each text of a value whose own key is `key`, the keys of objects among them. `change` gets
/// the key that a text stands under, which for an item of a list is that of the list; `None` for a
/// key.
///
/// ```
/// use lab_text::json::each_text;
/// let mut value = serde_json::json!({ "a": ["b", 1], "c": "d" });
/// each_text(&mut value, "", &|key, text| *text += key.unwrap_or("!"));
/// assert_eq!(value, serde_json::json!({ "a!": ["ba", 1], "c!": "dc" }));
/// ```
pub fn each_text(value: &mut Value, key: &str, change: &impl Fn(Option<&str>, &mut String)) {
    match value {
        Value::String(text) => change(Some(key), text),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| each_text(item, key, change)),
        Value::Object(object) => {
            let changed = mem::take(object).into_iter().map(|(mut key, mut item)| {
                each_text(&mut item, &key, change);
                change(None, &mut key);
                (key, item)
            });
            *object = changed.collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
