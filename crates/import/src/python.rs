//! The function in Python that `lab` calls, around published code.

use itertools::Itertools;

/// The function that `lab` calls.
pub struct Wrapper<'a> {
    pub entry: &'a str,
    /// The names of its parameters, outputs last.
    pub parameters: &'a [String],
    /// The call of the published function.
    pub call: &'a str,
    /// The outputs that the call returns, in its order: each with its name in what the call
    /// returns, if that is a dict. Empty if the call writes the outputs itself.
    pub returned: &'a [(String, String)],
}

impl Wrapper<'_> {
    /// Its text. It copies what the call returns into the outputs.
    pub fn text(&self) -> String {
        let Wrapper {
            entry,
            parameters,
            call,
            returned,
        } = self;
        let head = format!("def {entry}({}):\n", parameters.join(", "));
        if returned.is_empty() {
            return format!("{head}    {call}\n");
        }
        let names = returned.iter().map(|(name, _)| name).join(", ");
        let keys = returned
            .iter()
            .map(|(_, key)| format!("\"{key}\""))
            .join(", ");
        format!(
            "{head}    _results = {call}\n    if isinstance(_results, dict):\n        _results = [_results[key] for key in [{keys}]]\n    \
             if not isinstance(_results, (tuple, list)):\n        _results = [_results]\n    \
             for _into, _result in zip([{names}], _results):\n        if _result is not _into:\n            _into[...] = _result\n"
        )
    }
}

/// A Python file: its docstring, published code, and the function that `lab` calls.
pub fn file(title: &str, code: &str, wrapper: &str) -> String {
    format!("\"\"\"{title}\"\"\"\n\n{}\n\n\n{wrapper}", code.trim())
}

/// A name of a Python function for `name`, which none of these texts defines.
pub fn entry(name: &str, texts: &[&str]) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(letter).collect();
    let is_taken = |name: &str| {
        texts.iter().any(|text| {
            [format!("def {name}("), format!("class {name}")]
                .iter()
                .any(|definition| text.contains(definition))
        })
    };
    match is_taken(&name) || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => format!("entry_{name}"),
        false => name,
    }
}
