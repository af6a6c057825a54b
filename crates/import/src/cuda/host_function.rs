//! Functions of the host that only compute a number, as
//! `int blocks(int n) { return (n + 255) / 256; }`.

use super::unit::{Unit, replaced};
use lab_source::cpp::Code;
use lab_source::cpp::items::{Item, ItemKind};

/// What a name stands for.
type Value = (String, String);

/// The expression that the call of such a function stands for. `None` if the published files have
/// none with so many parameters.
pub fn returned(unit: &Unit, name: &str, arguments: &[String]) -> Option<String> {
    let own = unit.places().map(|place| unit.item(place));
    let mut own = own.filter(|(_, item)| item.kind == ItemKind::Function && item.name() == name);
    let found = own.find_map(|(source, item)| expression(&source.code, item, arguments));
    let mut others = unit.launchers.iter();
    found.or_else(|| others.find_map(|other| returned(other, name, arguments)))
}

fn expression(code: &Code<String>, item: &Item, arguments: &[String]) -> Option<String> {
    let (open, close) = item.parameters?;
    let parts = code.split(open + 1, close, true).into_iter();
    let parts = parts.filter(|(from, to)| from < to).enumerate();
    let given = parts.map(|(number, (from, to))| {
        let equals = (from..to).find(|at| code.at(*at) == "=");
        let default = || equals.map(|at| code.spelled(at + 1, to));
        let name = code.word(equals.unwrap_or(to) - 1).to_owned();
        let value = arguments.get(number).cloned().or_else(default)?;
        Some((name, value))
    });
    let mut known: Vec<Value> = given.collect::<Option<_>>()?;
    if arguments.len() > known.len() {
        return None;
    }
    let (open, close) = item.body?;
    let mut at = open + 1;
    while at < close {
        let end = code.statement_end(at, close);
        if code.word(at) == "return" {
            let is_last = end + 1 == close;
            return is_last.then(|| with(&code.spelled(at + 1, end), &known));
        }
        // `const int blocks = (n + 255) / 256;`
        let equals = (at + 1..end).find(|at| code.at(*at) == "=")?;
        let is_declared = (at..equals).all(|at| !code.word(at).is_empty()) && equals > at + 1;
        let name = code.word(equals - 1).to_owned();
        let value = with(&code.spelled(equals + 1, end), &known);
        known.push(Some((name, value)).filter(|_| is_declared)?);
        at = end + 1;
    }
    None
}

/// A text with values in the place of their names.
fn with(text: &str, known: &[Value]) -> String {
    replaced(text, |code, at| {
        let is_member = at > 0 && code.at(at - 1) == ".";
        let mut values = known.iter().rev();
        let (_, value) = values.find(|(name, _)| *name == code.word(at) && !name.is_empty())?;
        (!is_member).then(|| format!("({value})"))
    })
}
