//! Which key asks for what: the table's own keys, as a value that the screen holds.

use super::{Action, Key, Place, TABLE, label};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    place: Place,
    action: Action,
    key: Key,
    /// As it was written.
    name: String,
}

impl Keymap {
    /// The keys of the table.
    pub fn built_in() -> Self {
        let rows = TABLE.iter().flat_map(|binding| {
            binding.keys.iter().filter_map(|name| {
                let key = Key::parse(name)?;
                Some(Row { place: binding.place, action: binding.action, key, name: (*name).to_owned() })
            })
        });
        Keymap { rows: rows.collect() }
    }

    /// What `key` asks for in `place`. What is heard everywhere is heard in a view too.
    pub fn find(&self, place: Place, key: Key) -> Option<Action> {
        let in_place = |place: Place| self.rows.iter().find(|r| r.place == place && r.key == key);
        let everywhere = || matches!(place, Place::In(_)).then(|| in_place(Place::Screen)).flatten();
        in_place(place).or_else(everywhere).map(|row| row.action)
    }

    /// The key that hints show; empty where an action has none.
    pub fn key(&self, action: Action) -> String {
        self.rows.iter().find(|row| row.action == action).map_or(String::new(), |row| label(&row.name))
    }

    /// All keys of an action, as the help page shows them.
    pub fn keys(&self, action: Action) -> String {
        let labels = self.rows.iter().filter(|row| row.action == action).map(|row| label(&row.name));
        labels.collect::<Vec<_>>().join(" ")
    }
}
