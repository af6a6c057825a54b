//! The keys in use: those of the table, changed by the user's config.

use super::{Action, Key, KeyScope, TABLE};
use crate::views::View;
use itertools::Itertools;

/// Actions of every view whose default key another action has in one view.
const REPLACED: &[(KeyScope, Action)] = &[
    (KeyScope::In(View::Loop), Action::Stop),
    (KeyScope::In(View::Results), Action::Profile),
    (KeyScope::In(View::Bench), Action::Cite),
];

/// The action of each key.
///
/// ```
/// use lab_tui::keymap::{Action, Key, Keymap, KeyScope};
///
/// let mut keymap = Keymap::built_in();
/// let (c, k) = (Key::parse("c").unwrap(), Key::parse("K").unwrap());
/// assert_eq!(keymap.find(KeyScope::Screen, c), Some(Action::Keep));
/// keymap.bind(KeyScope::Screen, Action::Keep, &[k]);
/// assert_eq!((keymap.find(KeyScope::Screen, c), keymap.find(KeyScope::Screen, k)), (None, Some(Action::Keep)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    /// Keys that hints show come first.
    bound: Vec<BoundKey>,
    /// Actions of [`KeyScope::Screen`] with separate keys in one view. In that view their other
    /// keys do not work.
    overridden: Vec<(KeyScope, Action)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BoundKey {
    scope: KeyScope,
    action: Action,
    key: Key,
}

/// A key that is bound to two actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyConflict {
    pub key: Key,
    /// Each action with where it was bound.
    pub between: [(KeyScope, Action); 2],
}

impl Keymap {
    /// The default keys of the table.
    pub fn built_in() -> Self {
        let bound = TABLE.iter().flat_map(|binding| {
            binding.keys.iter().filter_map(|name| {
                Some(BoundKey {
                    scope: binding.scope,
                    action: binding.action,
                    key: Key::parse(name)?,
                })
            })
        });
        Keymap {
            bound: bound.collect(),
            overridden: REPLACED.to_vec(),
        }
    }

    /// Binds an action to these keys in `scope` instead of its present ones; without keys the
    /// action has none there. `scope` is the action's own, or one view for an action of
    /// [`KeyScope::Screen`].
    pub fn bind(&mut self, scope: KeyScope, action: Action, keys: &[Key]) {
        self.bound
            .retain(|bound| (bound.scope, bound.action) != (scope, action));
        let bound = keys.iter().map(|key| BoundKey {
            scope,
            action,
            key: *key,
        });
        self.bound.splice(0..0, bound);
        if scope != action.binding().scope && !self.overridden.contains(&(scope, action)) {
            self.overridden.push((scope, action));
        }
    }

    /// The keys that work in `scope`, its own first. The keys of [`KeyScope::Screen`] work in a
    /// view too.
    fn active(&self, scope: KeyScope) -> impl Iterator<Item = &BoundKey> {
        let everywhere = move |bound: &&BoundKey| {
            matches!(scope, KeyScope::In(_))
                && bound.scope == KeyScope::Screen
                && !self.overridden.contains(&(scope, bound.action))
        };
        let own = self.bound.iter().filter(move |bound| bound.scope == scope);
        own.chain(self.bound.iter().filter(everywhere))
    }

    /// The action of `key` in `scope`.
    pub fn find(&self, scope: KeyScope, key: Key) -> Option<Action> {
        self.active(scope)
            .find(|bound| bound.key == key)
            .map(|bound| bound.action)
    }

    /// The key that hints show for an action. Empty where the action has no key.
    pub fn key(&self, action: Action) -> String {
        self.key_in(action.binding().scope, action)
    }

    /// How a message names an action: by its key, else by its name in the palette (`:mouse`).
    pub fn way(&self, action: Action) -> String {
        match self.key(action) {
            key if key.is_empty() => format!(":{}", action.binding().name),
            key => key,
        }
    }

    /// The first key of an action that works in `scope`. Empty where there is none, and where its keys
    /// do something else.
    pub fn key_in(&self, scope: KeyScope, action: Action) -> String {
        let acts = |bound: &&BoundKey| {
            bound.action == action && self.find(scope, bound.key) == Some(action)
        };
        let bound = self.active(scope).find(acts);
        bound.map_or_else(String::new, |bound| bound.key.label())
    }

    /// All keys of an action, as the help page shows them. A key that works in one view only is
    /// followed by the view's name.
    pub fn keys(&self, action: Action) -> String {
        let own = action.binding().scope;
        let bound = self.bound.iter().filter(|bound| bound.action == action);
        let mut bound: Vec<&BoundKey> = bound.collect();
        bound.sort_by_key(|bound| bound.scope != own);
        let label = |bound: &&BoundKey| match bound.scope {
            KeyScope::In(view) if bound.scope != own => {
                format!("{} ({})", bound.key.label(), view.name())
            }
            _ => bound.key.label(),
        };
        bound.iter().map(label).join(" ")
    }

    /// All keys of an action that work in `scope`: without those that act otherwise there.
    pub fn keys_in(&self, scope: KeyScope, action: Action) -> String {
        let of_it = self.active(scope).filter(|bound| bound.action == action);
        let acts = of_it.filter(|bound| self.find(scope, bound.key) == Some(action));
        acts.map(|bound| bound.key.label()).join(" ")
    }

    /// A key that is bound to two actions in the same scope, if there is one.
    pub fn conflict(&self) -> Option<KeyConflict> {
        KeyScope::all().find_map(|scope| {
            let active: Vec<&BoundKey> = self.active(scope).collect();
            active.iter().enumerate().find_map(|(at, one)| {
                let other = active[at + 1..]
                    .iter()
                    .find(|b| b.key == one.key && b.action != one.action)?;
                let between = [(other.scope, other.action), (one.scope, one.action)];
                Some(KeyConflict {
                    key: one.key,
                    between,
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::parse(name).expect("a key")
    }

    #[test]
    fn no_default_key_is_bound_to_two_actions() {
        let conflict = Keymap::built_in().conflict();
        let error = conflict.map(|c| {
            format!(
                "'{}' is bound to both {:?} and {:?}",
                c.key.label(),
                c.between[0],
                c.between[1]
            )
        });
        assert_eq!(error, None);
    }

    #[test]
    fn a_binding_replaces_the_default_keys() {
        let mut map = Keymap::built_in();
        map.bind(KeyScope::Screen, Action::Keep, &[key("K"), key("ctrl-k")]);
        assert_eq!(map.find(KeyScope::Screen, key("c")), None);
        assert_eq!(
            map.find(KeyScope::In(View::Git), key("ctrl-k")),
            Some(Action::Keep)
        );
        assert_eq!(
            (
                map.key(Action::Keep).as_str(),
                map.keys(Action::Keep).as_str()
            ),
            ("K", "K Ctrl-K")
        );
        map.bind(KeyScope::Screen, Action::Keep, &[]);
        assert_eq!(
            (
                map.key(Action::Keep).as_str(),
                map.find(KeyScope::Screen, key("K"))
            ),
            ("", None)
        );
    }

    #[test]
    fn an_action_of_every_view_may_have_separate_keys_in_one_view() {
        let mut map = Keymap::built_in();
        let (git, bench) = (KeyScope::In(View::Git), KeyScope::In(View::Bench));
        map.bind(git, Action::Keep, &[key("K")]);
        assert_eq!(map.find(git, key("K")), Some(Action::Keep));
        assert_eq!(
            map.find(git, key("c")),
            None,
            "in this view the action has the other key"
        );
        assert_eq!(map.find(bench, key("c")), Some(Action::Keep));
        assert_eq!(map.find(bench, key("K")), None);
        assert_eq!(
            (map.key(Action::Keep), map.key_in(git, Action::Keep)),
            ("c".into(), "K".into())
        );
        assert_eq!(map.keys(Action::Keep), "c K (Git)");
    }

    #[test]
    fn a_conflict_is_found_where_both_keys_work() {
        let mut map = Keymap::built_in();
        map.bind(KeyScope::Input, Action::Accept, &[key("f5")]);
        map.bind(KeyScope::Screen, Action::Keep, &[key("f5")]);
        assert_eq!(map.conflict(), None, "the two never work at the same time");
        map.bind(KeyScope::In(View::Bench), Action::Freeze, &[key("f5")]);
        let conflict = map.conflict().expect("on Bench both keys work");
        assert_eq!(conflict.key, key("f5"));
    }
}
