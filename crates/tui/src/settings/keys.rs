//! The keys in config.toml: `preset` chooses a preset, `[keys]` binds actions, `[keys.SCOPE]` binds
//! actions in one scope (a view, input lines, questions), `[presets.NAME]` defines a preset.

use crate::keymap::{Action, Binding, Key, KeyScope, Keymap, TABLE};
use lab_text::suggest::nearest;
use std::borrow::Cow;
use std::collections::HashMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The presets that come with the lab: the name, and the text of its `[keys]`.
const BUILT_IN: [(&str, &str); 3] = [
    ("default", ""),
    ("vim", include_str!("presets/vim.toml")),
    ("emacs", include_str!("presets/emacs.toml")),
];

/// The actions that need a key: without one the user could not leave a dialog or the screen.
const NEEDED: [Action; 5] = [
    Action::Quit,
    Action::Accept,
    Action::Abandon,
    Action::Yes,
    Action::No,
];

/// Hints of earlier versions, and the action that each names.
const FORMER_HINTS: [(&str, &str); 1] = [("commit", "keep")];

/// An error in the keys.
#[derive(Debug)]
pub(super) struct KeysError {
    /// Byte offset in the file.
    pub at: usize,
    pub message: String,
}

fn error<T, S>(place: &Spanned<S>, message: impl Into<String>) -> Result<T, KeysError> {
    Err(KeysError {
        at: place.span().start,
        message: message.into(),
    })
}

/// The keys of a whole config.toml.
pub(super) fn parse(document: &DeTable) -> Result<Keymap, KeysError> {
    let presets = match document.get("presets") {
        Some(presets) => table(presets, "presets is a table of presets: [presets.NAME]")?,
        None => Vec::new(),
    };
    // Every preset is checked, also those that are not chosen.
    for (name, preset) in &presets {
        if BUILT_IN.iter().any(|(known, _)| *known == name.get_ref()) {
            return error(
                name,
                format!(
                    "'{}' is the name of a built-in preset: give yours another name",
                    name.get_ref()
                ),
            );
        }
        keymap(Keymap::built_in(), preset)?;
    }
    let base = match document.get("preset") {
        Some(wanted) => chosen(wanted, &presets)?,
        None => Keymap::built_in(),
    };
    match document.get("keys") {
        Some(keys) => keymap(base, keys),
        None => Ok(base),
    }
}

type KeyEntry<'a, 'i> = (&'a Spanned<Cow<'i, str>>, &'a Spanned<DeValue<'i>>);

/// A table's entries in the order of the file. `message` is the error where the value is not a
/// table.
fn table<'a, 'i>(
    value: &'a Spanned<DeValue<'i>>,
    message: &str,
) -> Result<Vec<KeyEntry<'a, 'i>>, KeysError> {
    let DeValue::Table(table) = value.get_ref() else {
        return error(value, message);
    };
    let mut entries: Vec<KeyEntry> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    Ok(entries)
}

/// The keys of the preset that the config chooses.
fn chosen(wanted: &Spanned<DeValue>, own: &[KeyEntry]) -> Result<Keymap, KeysError> {
    let Some(name) = wanted.get_ref().as_str() else {
        return error(wanted, "preset is a name, as in preset = \"vim\"");
    };
    if let Some((_, preset)) = own.iter().find(|(known, _)| known.get_ref() == name) {
        return keymap(Keymap::built_in(), preset);
    }
    if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return built_in(text);
    }
    let names = BUILT_IN.iter().map(|(name, _)| *name);
    let names: Vec<&str> = names
        .chain(own.iter().map(|(name, _)| name.get_ref().as_ref()))
        .collect();
    let near = near_or(nearest(name, names.iter().copied()), || {
        let all = names.join(", ");
        format!("choose one of {all}, or define [presets.{name}]")
    });
    error(wanted, format!("unknown preset '{name}'{near}"))
}

/// The end of an error about an unknown word: the near one, else what to do.
pub(crate) fn near_or(near: Option<&str>, otherwise: impl FnOnce() -> String) -> String {
    match near {
        Some(near) => format!(" (did you mean {near}?)"),
        None => format!(": {}", otherwise()),
    }
}

/// The keys of a built-in preset. A test parses each of them.
fn built_in(text: &str) -> Result<Keymap, KeysError> {
    let preset = DeTable::parse(text).map_err(|error| KeysError {
        at: 0,
        message: error.to_string(),
    })?;
    let span = preset.span();
    keymap(
        Keymap::built_in(),
        &Spanned::new(span, DeValue::Table(preset.into_inner())),
    )
}

/// `map` with the bindings of a table.
fn keymap(mut map: Keymap, bindings: &Spanned<DeValue>) -> Result<Keymap, KeysError> {
    let mut starts: HashMap<(KeyScope, Action), usize> = HashMap::new();
    for (name, value) in table(bindings, "keys is a table: [keys], then ACTION = \"KEY\"")? {
        let (own_scope, entries) = match value.get_ref() {
            DeValue::Table(_) => (Some(scope(name)?), table(value, "")?),
            _ => (None, vec![(name, value)]),
        };
        for (name, value) in entries {
            let binding = action(name)?;
            let scope = own_scope.unwrap_or(binding.scope);
            if !scope.accepts(binding) {
                let own = binding.scope.heading().to_lowercase();
                let message = format!(
                    "{} cannot be bound in this scope; its scope is: {own}",
                    binding.name
                );
                return error(name, message);
            }
            bind(&mut map, scope, binding, value)?;
            starts.insert((scope, binding.action), name.span().start);
        }
    }
    let Some(conflict) = map.conflict() else {
        return Ok(map);
    };
    // The default keys do not conflict, so at least one of the two is in this table.
    let at = conflict
        .between
        .iter()
        .filter_map(|one| starts.get(one).copied())
        .max();
    let [one, other] = conflict.between.map(|(_, action)| action.binding().name);
    Err(KeysError {
        at: at.unwrap_or(bindings.span().start),
        message: format!(
            "'{}' is bound to both {one} and {other}: give one of them another key, or [] for none",
            conflict.key.label()
        ),
    })
}

/// The scope of a table `[keys.SCOPE]`.
fn scope(name: &Spanned<Cow<str>>) -> Result<KeyScope, KeysError> {
    let named = || KeyScope::all().filter(|scope| *scope != KeyScope::Screen);
    if let Some(scope) = named().find(|scope| scope.name() == *name.get_ref()) {
        return Ok(scope);
    }
    let names: Vec<String> = named().map(KeyScope::name).collect();
    let near = nearest(name.get_ref(), names.iter().map(String::as_str));
    let near = near_or(near, || format!("choose one of {}", names.join(", ")));
    error(name, format!("unknown scope '{}'{near}", name.get_ref()))
}

/// The action of a name.
fn action(name: &Spanned<Cow<str>>) -> Result<&'static Binding, KeysError> {
    if let Some(binding) = TABLE.iter().find(|binding| binding.name == name.get_ref()) {
        return Ok(binding);
    }
    // A user may know an action by its word in the hint bar.
    let known = || {
        TABLE
            .iter()
            .flat_map(|b| [(b.name, b.name), (b.hint, b.name)])
            .chain(FORMER_HINTS)
            .filter(|(word, _)| !word.is_empty())
    };
    let word = nearest(name.get_ref(), known().map(|(word, _)| word));
    let near = word.and_then(|word| known().find(|(known, _)| *known == word));
    let near = near_or(near.map(|(_, name)| name), || {
        "KEYS.md lists the actions".to_owned()
    });
    error(name, format!("unknown action '{}'{near}", name.get_ref()))
}

/// Binds an action to the keys of a value: a key, a list of keys, or `"none"`.
fn bind(
    map: &mut Keymap,
    scope: KeyScope,
    binding: &Binding,
    value: &Spanned<DeValue>,
) -> Result<(), KeysError> {
    let shape = format!(
        "the value of {} is a key, as in \"c\", or a list of keys",
        binding.name
    );
    let keys = match value.get_ref() {
        DeValue::String(text) if text == "none" => Vec::new(),
        DeValue::String(text) => vec![key(text, value)?],
        DeValue::Array(list) => {
            let key = |one: &Spanned<DeValue>| match one.get_ref() {
                DeValue::String(text) if text == "none" => error(
                    one,
                    format!(
                        "\"none\" cannot be in a list: {} = \"none\", or []",
                        binding.name
                    ),
                ),
                DeValue::String(text) => key(text, one),
                _ => error(value, shape.clone()),
            };
            list.iter().map(key).collect::<Result<Vec<Key>, _>>()?
        }
        _ => return error(value, shape),
    };
    if keys.is_empty() && NEEDED.contains(&binding.action) {
        return error(
            value,
            format!(
                "{} needs a key: without one you could not leave the screen or a dialog",
                binding.name
            ),
        );
    }
    if let Some(letter) = keys
        .iter()
        .find(|key| scope == KeyScope::Input && key.types())
    {
        let message = format!(
            "'{}' could no longer be typed in an input line: choose a key such as ctrl-g",
            letter.label()
        );
        return error(value, message);
    }
    map.bind(scope, binding.action, &keys);
    Ok(())
}

/// The key of a text.
fn key(text: &str, place: &Spanned<DeValue>) -> Result<Key, KeysError> {
    if let Some(key) = Key::parse(text) {
        return Ok(key);
    }
    if text.trim().is_empty() {
        let message = "an empty text is not a key: \"none\" or [] removes an action's keys, \"space\" is the space bar";
        return error(place, message);
    }
    let near = near_or(Key::suggestion(text).as_deref(), || {
        "write a key as c, G, ctrl-k, alt-x, pageup, f5".to_owned()
    });
    error(place, format!("unknown key '{text}'{near}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::View;

    #[test]
    fn every_built_in_preset_is_valid_and_leaves_every_action_a_key() {
        for (name, text) in BUILT_IN {
            let map = built_in(text).unwrap_or_else(|error| panic!("{name}: {}", error.message));
            for binding in TABLE.iter().filter(|binding| !binding.keys.is_empty()) {
                assert!(
                    !map.keys(binding.action).is_empty(),
                    "{name} leaves no key for {}",
                    binding.name
                );
            }
        }
    }

    #[test]
    fn keys_come_from_the_preset_and_then_from_the_table() {
        let text = "preset = \"mine\"\n[keys]\nkeep = \"K\"\n[keys.git]\nstop = \"none\"\n[presets.mine]\nstop = [\"X\"]\nkeep = \"k\"\nup = \"up\"\n";
        let document = DeTable::parse(text).expect("it is TOML");
        let map = parse(document.get_ref()).unwrap_or_else(|error| panic!("{}", error.message));
        assert_eq!(
            (map.keys(Action::Keep), map.key(Action::Stop)),
            ("K".into(), "X".into())
        );
        let stop = Key::parse("X").expect("a key");
        assert_eq!(map.find(KeyScope::In(View::Git), stop), None);
        assert_eq!(
            map.find(KeyScope::In(View::Bench), stop),
            Some(Action::Stop)
        );
    }
}
