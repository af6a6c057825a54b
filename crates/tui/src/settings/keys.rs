//! The keys of the config: a preset by name, and `[keys]`, whose tables `[keys.PLACE]` are of one place.

use crate::keymap::{Action, Binding, Key, Keymap, Place, TABLE};
use std::collections::HashMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The presets that come with the lab, each written as `[keys]` is.
const BUILT_IN: [(&str, &str); 3] = [
    ("default", ""),
    ("vim", include_str!("presets/vim.toml")),
    ("emacs", include_str!("presets/emacs.toml")),
];

/// Without a key for one of these there would be no way out.
const NEEDED: [Action; 5] = [Action::Quit, Action::Accept, Action::Abandon, Action::Yes, Action::No];

#[derive(Debug)]
pub(super) struct Wrong {
    /// Byte of the file.
    pub at: usize,
    pub what: String,
}

fn wrong<T>(span: &Range<usize>, what: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { at: span.start, what: what.into() })
}

/// The keys of a whole config.
pub(super) fn parse(text: &str) -> Result<Keymap, Wrong> {
    // The rest of the file was read before: it is TOML.
    let Ok(document) = DeTable::parse(text) else { return wrong(&(0..0), "this is no TOML") };
    let document = document.get_ref();
    let presets = match document.get("presets") {
        Some(presets) => table(presets, "presets holds tables: [presets.NAME]")?,
        None => Vec::new(),
    };
    // Each must be in order by itself, chosen or not.
    for (name, preset) in &presets {
        if BUILT_IN.iter().any(|(known, _)| *known == name.get_ref()) {
            return wrong(
                &name.span(),
                format!("'{}' is a preset of the lab's own: give yours another name", name.get_ref()),
            );
        }
        keymap(Keymap::built_in(), preset)?;
    }
    let base = match document.get("preset") {
        Some(wanted) => chosen(wanted, &presets)?,
        None => Keymap::built_in(),
    };
    document.get("keys").map_or(Ok(base.clone()), |keys| keymap(base, keys))
}

type Entry<'a, 'i> = (&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>);

/// A table's entries in the order of the file.
fn table<'a, 'i>(value: &'a Spanned<DeValue<'i>>, otherwise: &str) -> Result<Vec<Entry<'a, 'i>>, Wrong> {
    let DeValue::Table(table) = value.get_ref() else { return wrong(&value.span(), otherwise) };
    let mut entries: Vec<Entry> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    Ok(entries)
}

fn chosen(wanted: &Spanned<DeValue>, own: &[Entry]) -> Result<Keymap, Wrong> {
    let Some(name) = wanted.get_ref().as_str() else {
        return wrong(&wanted.span(), "preset is a name, as in preset = \"vim\"");
    };
    if let Some((_, preset)) = own.iter().find(|(known, _)| known.get_ref() == name) {
        return keymap(Keymap::built_in(), preset);
    }
    if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return built_in(text);
    }
    let names = || BUILT_IN.iter().map(|(n, _)| *n).chain(own.iter().map(|(n, _)| n.get_ref().as_ref()));
    let all = names().collect::<Vec<_>>().join(", ");
    let near = suggestion(name, names().map(|name| (name, name)));
    let near = near.unwrap_or_else(|| format!(": it is one of {all}, or [presets.{name}]"));
    wrong(&wanted.span(), format!("unknown preset '{name}'{near}"))
}

/// A test reads each of them.
fn built_in(text: &str) -> Result<Keymap, Wrong> {
    let preset = DeTable::parse(text).map_err(|error| Wrong { at: 0, what: error.to_string() })?;
    let span = preset.span();
    keymap(Keymap::built_in(), &Spanned::new(span, DeValue::Table(preset.into_inner())))
}

/// `map` with what a table says instead.
fn keymap(mut map: Keymap, written: &Spanned<DeValue>) -> Result<Keymap, Wrong> {
    let mut places: HashMap<(Place, Action), Range<usize>> = HashMap::new();
    for (name, value) in table(written, "keys are a table: [keys], then ACTION = \"KEY\"")? {
        match value.get_ref() {
            DeValue::Table(_) => {
                let place = place(name)?;
                for (name, value) in table(value, "")? {
                    let binding = action(name)?;
                    if !place.hears(binding) {
                        let home = binding.place.heading().to_lowercase();
                        let what =
                            format!("{} is no action of this place; it is one of: {home}", binding.name);
                        return wrong(&name.span(), what);
                    }
                    bind(&mut map, place, binding, value)?;
                    places.insert((place, binding.action), name.span());
                }
            }
            _ => {
                let binding = action(name)?;
                bind(&mut map, binding.place, binding, value)?;
                places.insert((binding.place, binding.action), name.span());
            }
        }
    }
    let Some(clash) = map.clash() else { return Ok(map) };
    // The table's own keys agree, so that at least one of the two is written here.
    let at = clash.between.iter().filter_map(|one| places.get(one)).map(|span| span.start).max();
    let [one, other] = clash.between.map(|(_, action)| action.binding().name);
    Err(Wrong {
        at: at.unwrap_or(written.span().start),
        what: format!(
            "'{}' is bound to both {one} and {other}: give one of them another key, or [] for none",
            clash.key.label()
        ),
    })
}

fn place(name: &Spanned<std::borrow::Cow<str>>) -> Result<Place, Wrong> {
    let named = |place: &&Place| place.name() == name.get_ref();
    if let Some(place) = Place::ALL.iter().filter(|place| !place.name().is_empty()).find(named) {
        return Ok(*place);
    }
    let names = || Place::ALL.iter().map(|place| place.name()).filter(|name| !name.is_empty());
    let near = suggestion(name.get_ref(), names().map(|name| (name, name)));
    let near = near.unwrap_or_else(|| format!(": it is one of {}", names().collect::<Vec<_>>().join(", ")));
    wrong(&name.span(), format!("unknown place '{}'{near}", name.get_ref()))
}

fn action(name: &Spanned<std::borrow::Cow<str>>) -> Result<&'static Binding, Wrong> {
    if let Some(binding) = TABLE.iter().find(|binding| binding.name == name.get_ref()) {
        return Ok(binding);
    }
    // Who knows it from the hints writes the hint's word.
    let known = TABLE.iter().flat_map(|b| [(b.name, b.name), (b.hint, b.name)]);
    let near = suggestion(name.get_ref(), known.filter(|(word, _)| !word.is_empty()));
    let near = near.unwrap_or_else(|| ": KEYS.md lists them".to_owned());
    wrong(&name.span(), format!("unknown action '{}'{near}", name.get_ref()))
}

/// A key, keys, or `"none"`.
fn bind(map: &mut Keymap, place: Place, binding: &Binding, value: &Spanned<DeValue>) -> Result<(), Wrong> {
    let shape =
        || wrong(&value.span(), format!("{} wants a key, as in \"c\", or a list of keys", binding.name));
    let mut keys = Vec::new();
    match value.get_ref() {
        DeValue::String(text) if text == "none" => {}
        DeValue::String(text) => keys.push(key(text, &value.span())?),
        DeValue::Array(list) => {
            for one in list {
                let DeValue::String(text) = one.get_ref() else { return shape().map(drop::<()>) };
                if text == "none" {
                    let what = format!("\"none\" stands alone: {} = \"none\", or []", binding.name);
                    return wrong(&one.span(), what);
                }
                keys.push(key(text, &one.span())?);
            }
        }
        _ => return shape(),
    }
    if keys.is_empty() && NEEDED.contains(&binding.action) {
        return wrong(
            &value.span(),
            format!("{} needs a key: without one there is no way out", binding.name),
        );
    }
    if let Some(letter) = keys.iter().find(|key| place == Place::Input && key.types()) {
        let what = format!(
            "'{}' could not be typed any more where a line is: take a key such as ctrl-g",
            letter.label()
        );
        return wrong(&value.span(), what);
    }
    map.bind(place, binding.action, &keys);
    Ok(())
}

fn key(text: &str, span: &Range<usize>) -> Result<Key, Wrong> {
    if let Some(key) = Key::parse(text) {
        return Ok(key);
    }
    if text.trim().is_empty() {
        let what =
            "an empty text is no key: \"none\" or [] takes an action's keys away, \"space\" is the space bar";
        return wrong(span, what);
    }
    let near = Key::suggestion(text).map(|name| format!(" (did you mean {name}?)"));
    let near = near.unwrap_or_else(|| ": keys are written as c, G, ctrl-k, alt-x, pageup, f5".to_owned());
    wrong(span, format!("unknown key '{text}'{near}"))
}

/// ` (did you mean NAME?)`, of words each with the name that it stands for.
fn suggestion<'a>(wrong: &str, known: impl Iterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let near = known
        .map(|(word, name)| (strsim::damerau_levenshtein(wrong, word), word.len(), name))
        .filter(|(distance, length, _)| *distance <= (*length).max(3) / 3)
        .min()?;
    Some(format!(" (did you mean {}?)", near.2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view_id::View;

    #[test]
    fn the_presets_of_the_lab_are_in_order_and_leave_every_action_its_key() {
        for (name, text) in BUILT_IN {
            let map = built_in(text).unwrap_or_else(|wrong| panic!("{name}: {}", wrong.what));
            for binding in TABLE.iter().filter(|binding| !binding.keys.is_empty()) {
                assert!(!map.keys(binding.action).is_empty(), "{name} leaves no key for {}", binding.name);
            }
        }
    }

    #[test]
    fn keys_come_from_the_preset_and_then_from_the_table() {
        let text = "preset = \"mine\"\n[keys]\nkeep = \"K\"\n[keys.git]\nstop = \"none\"\n[presets.mine]\nstop = [\"X\"]\nkeep = \"k\"\nup = \"up\"\n";
        let map = parse(text).unwrap_or_else(|wrong| panic!("{}", wrong.what));
        assert_eq!((map.keys(Action::Keep), map.key(Action::Stop)), ("K".into(), "X".into()));
        let stop = Key::parse("X").expect("a key");
        assert_eq!(map.find(Place::In(View::Git), stop), None);
        assert_eq!(map.find(Place::In(View::Bench), stop), Some(Action::Stop));
    }
}
