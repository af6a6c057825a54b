//! Which key asks for what: the table's own keys, and what the user's config says instead, as a value that
//! the screen holds.

use super::{Action, Key, Place, TABLE};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    rows: Vec<Row>,
    /// Actions of [`Place::Screen`] that have keys of their own in a view: there the others are not heard.
    own: Vec<(Place, Action)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    place: Place,
    action: Action,
    key: Key,
}

/// One key, two meanings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clash {
    pub key: Key,
    /// Each with the place that it was bound in.
    pub between: [(Place, Action); 2],
}

impl Keymap {
    /// The keys of the table.
    pub fn built_in() -> Self {
        let rows = TABLE.iter().flat_map(|binding| {
            binding.keys.iter().filter_map(|name| {
                Some(Row { place: binding.place, action: binding.action, key: Key::parse(name)? })
            })
        });
        Keymap { rows: rows.collect(), own: Vec::new() }
    }

    /// Gives an action these keys in `place`, instead of those it has: where it is heard anyway, or in one
    /// view alone where it is one of [`Place::Screen`]. No keys: it has none there.
    pub fn bind(&mut self, place: Place, action: Action, keys: &[Key]) {
        self.rows.retain(|row| (row.place, row.action) != (place, action));
        // In front: hints show the first.
        let rows = keys.iter().map(|key| Row { place, action, key: *key });
        self.rows.splice(0..0, rows);
        if place != action.binding().place && !self.own.contains(&(place, action)) {
            self.own.push((place, action));
        }
    }

    /// What is heard in `place`, its own rows first. What is heard everywhere is heard in a view too.
    fn heard(&self, place: Place) -> impl Iterator<Item = &Row> {
        let everywhere = move |row: &&Row| {
            matches!(place, Place::In(_))
                && row.place == Place::Screen
                && !self.own.contains(&(place, row.action))
        };
        let here = self.rows.iter().filter(move |row| row.place == place);
        here.chain(self.rows.iter().filter(everywhere))
    }

    /// What `key` asks for in `place`.
    pub fn find(&self, place: Place, key: Key) -> Option<Action> {
        self.heard(place).find(|row| row.key == key).map(|row| row.action)
    }

    /// The key that hints show; empty where an action has none.
    pub fn key(&self, action: Action) -> String {
        let own = action.binding().place;
        self.rows
            .iter()
            .find(|r| r.place == own && r.action == action)
            .map_or(String::new(), |r| r.key.label())
    }

    /// How a text names the way to an action: its key, else its name in the palette.
    pub fn way(&self, action: Action) -> String {
        match self.key(action) {
            none if none.is_empty() => format!(":{}", action.binding().name),
            key => key,
        }
    }

    /// The same as it is heard in `place`, which may be another.
    pub fn key_in(&self, place: Place, action: Action) -> String {
        let row = self.heard(place).find(|row| row.action == action);
        row.map_or_else(String::new, |row| row.key.label())
    }

    /// All keys of an action, as the help page shows them; those of one view alone with its name.
    pub fn keys(&self, action: Action) -> String {
        let own = action.binding().place;
        let rows = self.rows.iter().filter(|row| row.action == action);
        let label = |row: &Row| match row.place {
            Place::In(view) if row.place != own => format!("{} ({})", row.key.label(), view.name()),
            _ => row.key.label(),
        };
        let (mine, elsewhere): (Vec<&Row>, Vec<&Row>) = rows.partition(|row| row.place == own);
        mine.into_iter().chain(elsewhere).map(label).collect::<Vec<_>>().join(" ")
    }

    /// A key that would have two meanings, if there is one.
    pub fn clash(&self) -> Option<Clash> {
        Place::ALL.into_iter().find_map(|place| {
            let heard: Vec<&Row> = self.heard(place).collect();
            heard.iter().enumerate().find_map(|(at, one)| {
                let other = heard[at + 1..].iter().find(|r| r.key == one.key && r.action != one.action)?;
                let between = [(other.place, other.action), (one.place, one.action)];
                Some(Clash { key: one.key, between })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view_id::View;

    fn key(name: &str) -> Key {
        Key::parse(name).expect("a key")
    }

    #[test]
    fn the_tables_own_keys_have_one_meaning_each() {
        let clash = Keymap::built_in().clash();
        let said = clash.map(|c| {
            format!("'{}' is bound to both {:?} and {:?}", c.key.label(), c.between[0], c.between[1])
        });
        assert_eq!(said, None);
    }

    #[test]
    fn a_binding_takes_the_place_of_the_tables() {
        let mut map = Keymap::built_in();
        map.bind(Place::Screen, Action::Keep, &[key("K"), key("ctrl-k")]);
        assert_eq!(map.find(Place::Screen, key("c")), None);
        assert_eq!(map.find(Place::In(View::Git), key("ctrl-k")), Some(Action::Keep));
        assert_eq!((map.key(Action::Keep).as_str(), map.keys(Action::Keep).as_str()), ("K", "K Ctrl-K"));
        map.bind(Place::Screen, Action::Keep, &[]);
        assert_eq!((map.key(Action::Keep).as_str(), map.find(Place::Screen, key("K"))), ("", None));
    }

    #[test]
    fn a_view_may_have_keys_of_its_own_for_what_is_heard_everywhere() {
        let mut map = Keymap::built_in();
        let (git, bench) = (Place::In(View::Git), Place::In(View::Bench));
        map.bind(git, Action::Keep, &[key("K")]);
        assert_eq!(map.find(git, key("K")), Some(Action::Keep));
        assert_eq!(map.find(git, key("c")), None, "there it has the other key");
        assert_eq!(map.find(bench, key("c")), Some(Action::Keep));
        assert_eq!(map.find(bench, key("K")), None);
        assert_eq!((map.key(Action::Keep), map.key_in(git, Action::Keep)), ("c".into(), "K".into()));
        assert_eq!(map.keys(Action::Keep), "c K (Git)");
    }

    #[test]
    fn a_clash_is_found_where_both_are_heard() {
        let mut map = Keymap::built_in();
        map.bind(Place::Input, Action::Accept, &[key("f5")]);
        map.bind(Place::Screen, Action::Keep, &[key("f5")]);
        assert_eq!(map.clash(), None, "nobody types a description and keeps at once");
        map.bind(Place::In(View::Bench), Action::Freeze, &[key("f5")]);
        let clash = map.clash().expect("on Bench both are heard");
        assert_eq!(clash.key, key("f5"));
    }
}
