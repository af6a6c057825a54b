//! Every action of the screen in one table: its name, what it does and its keys. The help page, the
//! hint bar and KEYS.md are made from it, so that they cannot disagree.

mod key;

pub use key::Key;

/// Where an action can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Anywhere but in a dialog.
    Screen,
    /// While run.log has the focus.
    Log,
    /// In a dialog with a line to type.
    Input,
    /// In a question.
    Question,
}

impl Place {
    pub const ALL: [Place; 4] = [Place::Screen, Place::Log, Place::Input, Place::Question];

    pub fn heading(self) -> &'static str {
        match self {
            Place::Screen => "Everywhere",
            Place::Log => "In run.log",
            Place::Input => "Where a line is typed",
            Place::Question => "In a question",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    pub action: Action,
    pub place: Place,
    /// Its name in messages.
    pub name: &'static str,
    /// What it does, for the help page.
    pub doc: &'static str,
    /// As [`Key`] reads them; the first is the one that hints show.
    pub keys: &'static [&'static str],
    /// One word for the hint bar; empty where it is not shown there.
    pub hint: &'static str,
}

macro_rules! actions {
    ($($place:ident $action:ident $name:literal $doc:literal [$($key:literal),*] $hint:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action { $($action),* }

        pub const TABLE: &[Binding] = &[$(Binding {
            action: Action::$action,
            place: Place::$place,
            name: $name,
            doc: $doc,
            keys: &[$($key),*],
            hint: $hint,
        }),*];
    };
}

actions! {
    Screen Keep "keep" "keep this experiment: commit exactly the judged bytes" ["c"] "commit";
    Screen Discard "discard" "discard it: put kernel.cu back to the incumbent; the attempt stays in git" ["d"] "discard";
    Screen Rerun "rerun" "judge the present bytes once more" ["r"] "rerun";
    Screen Check "check" "check the present bytes for wild accesses and races, with the tools of `lab check`" ["s"] "";
    Screen Stop "stop" "end the run that goes on; it leaves no verdict" ["x"] "";
    Screen Edit "edit" "open kernel.cu in $VISUAL or $EDITOR, at the first error of a failed build" ["e"] "edit";
    Screen Pause "pause" "stop watching kernel.cu, or go on" ["p"] "pause";
    Screen FocusNext "next-pane" "focus the next pane" ["tab", "l", "right"] "focus";
    Screen FocusPrevious "previous-pane" "focus the previous pane" ["shift-tab", "h", "left"] "";
    Screen Zoom "zoom" "give the focused pane the whole screen, or take it back" ["z", "enter"] "zoom";
    Screen Up "up" "scroll up, or select the one above" ["k", "up"] "";
    Screen Down "down" "scroll down, or select the one below" ["j", "down"] "";
    Screen HalfUp "half-page-up" "half a page up" ["ctrl-u", "pageup"] "";
    Screen HalfDown "half-page-down" "half a page down" ["ctrl-d", "pagedown"] "";
    Screen Top "top" "to the beginning" ["g", "home"] "";
    Screen Bottom "bottom" "to the end; run.log is followed from there" ["G", "end"] "";
    Screen Search "search" "search in run.log; small letters find capitals too" ["/"] "search";
    Screen Close "close" "close what is on top: a dialog, a search, a zoom; or cancel a keep" ["esc"] "";
    Screen Help "help" "show these keys" ["?", "f1"] "help";
    Screen Suspend "suspend" "give the terminal back to the shell; `fg` comes back" ["ctrl-z"] "";
    Screen Redraw "redraw" "draw everything anew" ["ctrl-l"] "";
    Screen Quit "quit" "quit; a run that is going on is ended" ["q", "ctrl-c"] "quit";
    Log NextMatch "next-match" "to the next line that the search finds" ["n"] "";
    Log PreviousMatch "previous-match" "to the previous one" ["N"] "";
    Log Freeze "freeze" "hold this text still while the run goes on, or let go" ["f"] "freeze";
    Log ScrollLeft "scroll-left" "long lines: to the left" ["<"] "";
    Log ScrollRight "scroll-right" "long lines: to the right" [">"] "";
    Input Accept "accept" "do it" ["enter"] "";
    Input Abandon "abandon" "do nothing, close the dialog" ["esc", "ctrl-c"] "";
    Question Yes "yes" "yes" ["y"] "";
    Question No "no" "no" ["n", "esc", "q", "ctrl-c"] "";
}

impl Action {
    pub fn binding(self) -> &'static Binding {
        TABLE.iter().find(|b| b.action == self).expect("the table and the enum are made by one macro")
    }

    /// The key that hints show.
    pub fn key(self) -> &'static str {
        self.binding().keys.first().copied().unwrap_or("")
    }
}

/// What `key` asks for in `place`. A log key works on the whole screen where nothing else wants it.
pub fn find(place: Place, key: Key) -> Option<Action> {
    let in_place = |place: Place| {
        TABLE
            .iter()
            .find(|b| b.place == place && b.keys.iter().any(|k| Key::parse(k) == Some(key)))
            .map(|b| b.action)
    };
    match place {
        Place::Screen | Place::Log => in_place(Place::Log).or_else(|| in_place(Place::Screen)),
        place => in_place(place),
    }
}

/// How a key is shown: `esc` as `Esc`, `ctrl-z` as `Ctrl-Z`, a letter as it is.
pub fn label(key: &str) -> String {
    if key.chars().count() == 1 {
        return key.to_owned();
    }
    let part = |part: &str| {
        let mut letters = part.chars();
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
    };
    match key {
        "up" => "↑".to_owned(),
        "down" => "↓".to_owned(),
        "left" => "←".to_owned(),
        "right" => "→".to_owned(),
        "pageup" => "PgUp".to_owned(),
        "pagedown" => "PgDn".to_owned(),
        _ => key.split('-').map(part).collect::<Vec<_>>().join("-"),
    }
}

/// All keys of a binding, for the help page.
pub fn labels(binding: &Binding) -> String {
    binding.keys.iter().map(|k| label(k)).collect::<Vec<_>>().join(" ")
}

/// The text of KEYS.md.
pub fn manual() -> String {
    let mut out = String::from(
        "# Keys\n\nMade from the table in `src/tui/keymap.rs`; a test says so when this file is out of date.\n",
    );
    for place in Place::ALL {
        out.push_str(&format!("\n## {}\n\n| key | action | |\n|---|---|---|\n", place.heading()));
        for binding in TABLE.iter().filter(|b| b.place == place) {
            let keys: Vec<String> = binding.keys.iter().map(|k| format!("`{}`", label(k))).collect();
            out.push_str(&format!("| {} | {} | {} |\n", keys.join(" "), binding.name, binding.doc));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn no_key_has_two_meanings_in_one_place() {
        let mut taken: HashMap<(&str, Key), &str> = HashMap::new();
        for binding in TABLE {
            for name in binding.keys {
                let key = Key::parse(name).unwrap_or_else(|| panic!("'{name}' is no key ({})", binding.name));
                // The log's keys are heard beside the screen's.
                let place = match binding.place {
                    Place::Screen | Place::Log => "screen",
                    Place::Input => "input",
                    Place::Question => "question",
                };
                if let Some(other) = taken.insert((place, key), binding.name) {
                    panic!("'{name}' is bound to both {other} and {}", binding.name);
                }
            }
        }
    }

    #[test]
    fn every_action_has_a_key_a_name_of_its_own_and_a_sentence() {
        for binding in TABLE {
            assert!(!binding.keys.is_empty() && !binding.doc.is_empty(), "{}", binding.name);
            let same = TABLE.iter().filter(|b| b.name == binding.name).count();
            assert_eq!(same, 1, "{} is the name of {same} actions", binding.name);
        }
    }

    #[test]
    fn keys_md_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/KEYS.md");
        if std::env::var_os("LAB_WRITE_KEYS").is_some() {
            std::fs::write(path, manual()).expect("KEYS.md is writable where one asks for it");
        }
        let there = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            there == manual(),
            "KEYS.md is out of date: run `LAB_WRITE_KEYS=1 cargo test -p lab keys_md` and commit it"
        );
    }
}
