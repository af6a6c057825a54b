//! The keys in config.toml: `preset` chooses a preset, `[keys]` binds actions, `[keys.SCOPE]` binds
//! actions in one scope (a view, input lines, questions), `[presets.NAME]` defines a preset.

use crate::keymap::{Action, Binding, Key, KeyScope, Keymap, TABLE};
use lab_text::suggest::nearest;
use std::collections::HashMap;
use std::ops::Range;
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

fn error<T>(span: &Range<usize>, message: impl Into<String>) -> Result<T, KeysError> {
    Err(KeysError {
        at: span.start,
        message: message.into(),
    })
}

/// The keys of a whole config.toml.
pub(super) fn parse(text: &str) -> Result<Keymap, KeysError> {
    // The settings were parsed from the same text before, so it is TOML.
    let Ok(document) = DeTable::parse(text) else {
        return error(&(0..0), "this is not TOML");
    };
    let document = document.get_ref();
    let presets = match document.get("presets") {
        Some(presets) => table(presets, "presets is a table of presets: [presets.NAME]")?,
        None => Vec::new(),
    };
    // Every preset is checked, also those that are not chosen.
    for (name, preset) in &presets {
        if BUILT_IN.iter().any(|(known, _)| *known == name.get_ref()) {
            return error(
                &name.span(),
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
    document
        .get("keys")
        .map_or(Ok(base.clone()), |keys| keymap(base, keys))
}

type KeyEntry<'a, 'i> = (
    &'a Spanned<std::borrow::Cow<'i, str>>,
    &'a Spanned<DeValue<'i>>,
);

/// A table's entries in the order of the file. `message` is the error where the value is not a
/// table.
fn table<'a, 'i>(
    value: &'a Spanned<DeValue<'i>>,
    message: &str,
) -> Result<Vec<KeyEntry<'a, 'i>>, KeysError> {
    let DeValue::Table(table) = value.get_ref() else {
        return error(&value.span(), message);
    };
    let mut entries: Vec<KeyEntry> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    Ok(entries)
}

/// The keys of the preset that the config chooses.
fn chosen(wanted: &Spanned<DeValue>, own: &[KeyEntry]) -> Result<Keymap, KeysError> {
    let Some(name) = wanted.get_ref().as_str() else {
        return error(&wanted.span(), "preset is a name, as in preset = \"vim\"");
    };
    if let Some((_, preset)) = own.iter().find(|(known, _)| known.get_ref() == name) {
        return keymap(Keymap::built_in(), preset);
    }
    if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return built_in(text);
    }
    let names = || {
        BUILT_IN
            .iter()
            .map(|(n, _)| *n)
            .chain(own.iter().map(|(n, _)| n.get_ref().as_ref()))
    };
    let all = names().collect::<Vec<_>>().join(", ");
    let near = nearest(name, names()).map(|near| format!(" (did you mean {near}?)"));
    let near = near.unwrap_or_else(|| format!(": choose one of {all}, or define [presets.{name}]"));
    error(&wanted.span(), format!("unknown preset '{name}'{near}"))
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
    let mut spans: HashMap<(KeyScope, Action), Range<usize>> = HashMap::new();
    for (name, value) in table(bindings, "keys is a table: [keys], then ACTION = \"KEY\"")? {
        let DeValue::Table(_) = value.get_ref() else {
            let binding = action(name)?;
            bind(&mut map, binding.scope, binding, value)?;
            spans.insert((binding.scope, binding.action), name.span());
            continue;
        };
        let scope = scope(name)?;
        for (name, value) in table(value, "")? {
            let binding = action(name)?;
            if !scope.accepts(binding) {
                let own = binding.scope.heading().to_lowercase();
                let message = format!(
                    "{} cannot be bound in this scope; its scope is: {own}",
                    binding.name
                );
                return error(&name.span(), message);
            }
            bind(&mut map, scope, binding, value)?;
            spans.insert((scope, binding.action), name.span());
        }
    }
    let Some(conflict) = map.conflict() else {
        return Ok(map);
    };
    // The default keys do not conflict, so at least one of the two is in this table.
    let at = conflict
        .between
        .iter()
        .filter_map(|one| spans.get(one))
        .map(|span| span.start)
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
fn scope(name: &Spanned<std::borrow::Cow<str>>) -> Result<KeyScope, KeysError> {
    let named = |scope: &&KeyScope| scope.name() == name.get_ref();
    if let Some(scope) = KeyScope::ALL
        .iter()
        .filter(|scope| !scope.name().is_empty())
        .find(named)
    {
        return Ok(*scope);
    }
    let names = || {
        KeyScope::ALL
            .iter()
            .map(|scope| scope.name())
            .filter(|name| !name.is_empty())
    };
    let near = nearest(name.get_ref(), names()).map(|near| format!(" (did you mean {near}?)"));
    let near = near
        .unwrap_or_else(|| format!(": choose one of {}", names().collect::<Vec<_>>().join(", ")));
    error(
        &name.span(),
        format!("unknown scope '{}'{near}", name.get_ref()),
    )
}

/// The action of a name.
fn action(name: &Spanned<std::borrow::Cow<str>>) -> Result<&'static Binding, KeysError> {
    if let Some(binding) = TABLE.iter().find(|binding| binding.name == name.get_ref()) {
        return Ok(binding);
    }
    // A user may know an action by its word in the hint bar.
    let known = || {
        TABLE
            .iter()
            .flat_map(|b| [(b.name, b.name), (b.hint, b.name)])
            .chain(FORMER_HINTS)
    };
    let word = nearest(
        name.get_ref(),
        known()
            .map(|(word, _)| word)
            .filter(|word| !word.is_empty()),
    );
    let near = word.and_then(|word| known().find(|(known, _)| *known == word));
    let near = near.map_or_else(
        || ": KEYS.md lists the actions".to_owned(),
        |(_, name)| format!(" (did you mean {name}?)"),
    );
    error(
        &name.span(),
        format!("unknown action '{}'{near}", name.get_ref()),
    )
}

/// Binds an action to the keys of a value: a key, a list of keys, or `"none"`.
fn bind(
    map: &mut Keymap,
    scope: KeyScope,
    binding: &Binding,
    value: &Spanned<DeValue>,
) -> Result<(), KeysError> {
    let shape = || {
        error(
            &value.span(),
            format!(
                "the value of {} is a key, as in \"c\", or a list of keys",
                binding.name
            ),
        )
    };
    let mut keys = Vec::new();
    match value.get_ref() {
        DeValue::String(text) if text == "none" => {}
        DeValue::String(text) => keys.push(key(text, &value.span())?),
        DeValue::Array(list) => {
            for one in list {
                let DeValue::String(text) = one.get_ref() else {
                    return shape().map(drop::<()>);
                };
                if text == "none" {
                    let message = format!(
                        "\"none\" cannot be in a list: {} = \"none\", or []",
                        binding.name
                    );
                    return error(&one.span(), message);
                }
                keys.push(key(text, &one.span())?);
            }
        }
        _ => return shape(),
    }
    if keys.is_empty() && NEEDED.contains(&binding.action) {
        return error(
            &value.span(),
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
        return error(&value.span(), message);
    }
    map.bind(scope, binding.action, &keys);
    Ok(())
}

/// The key of a text.
fn key(text: &str, span: &Range<usize>) -> Result<Key, KeysError> {
    if let Some(key) = Key::parse(text) {
        return Ok(key);
    }
    if text.trim().is_empty() {
        let message = "an empty text is not a key: \"none\" or [] removes an action's keys, \"space\" is the space bar";
        return error(span, message);
    }
    let near = Key::suggestion(text).map(|name| format!(" (did you mean {name}?)"));
    let near =
        near.unwrap_or_else(|| ": write a key as c, G, ctrl-k, alt-x, pageup, f5".to_owned());
    error(span, format!("unknown key '{text}'{near}"))
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
        let map = parse(text).unwrap_or_else(|error| panic!("{}", error.message));
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
