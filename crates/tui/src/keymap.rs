//! Every action of the screen in one table: its name, what it does and its keys. The help page, the
//! hint bar and KEYS.md are made from it, so that they cannot disagree.
//!
//! Digits choose views, at once, so no key takes a count: a row is gone to by its number in the palette (`:120`).

mod key;
mod map;

pub use key::Key;
pub use map::{Clash, Keymap};

use super::view_id::View;

/// Where an action can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Anywhere but in a dialog.
    Screen,
    /// While this view is shown.
    In(View),
    /// In a dialog with a line to type.
    Input,
    /// In a question.
    Question,
}

impl Place {
    pub const ALL: [Place; 8] = [
        Place::Screen,
        Place::In(View::Bench),
        Place::In(View::Source),
        Place::In(View::Results),
        Place::In(View::Git),
        Place::In(View::Device),
        Place::Input,
        Place::Question,
    ];

    pub fn heading(self) -> String {
        match self {
            Place::Screen => "Everywhere".to_owned(),
            Place::In(view) => format!("In the view {}", view.name()),
            Place::Input => "Where a line is typed".to_owned(),
            Place::Question => "In a question".to_owned(),
        }
    }

    /// Its name in the user's config; what is heard everywhere needs none.
    pub fn name(self) -> &'static str {
        match self {
            Place::Screen => "",
            Place::In(View::Bench) => "bench",
            Place::In(View::Source) => "source",
            Place::In(View::Results) => "results",
            Place::In(View::Git) => "git",
            Place::In(View::Device) => "device",
            Place::Input => "input",
            Place::Question => "question",
        }
    }

    /// The action of `binding` can be asked for here.
    pub fn hears(self, binding: &Binding) -> bool {
        self == binding.place || matches!((self, binding.place), (Place::In(_), Place::Screen))
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
    ($($place:ident$(($view:ident))? $action:ident $name:literal $doc:literal [$($key:literal),*] $hint:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action { $($action),* }

        pub const TABLE: &[Binding] = &[$(Binding {
            action: Action::$action,
            place: Place::$place$((View::$view))?,
            name: $name,
            doc: $doc,
            keys: &[$($key),*],
            hint: $hint,
        }),*];
    };
}

actions! {
    Screen Keep "keep" "keep this experiment: commit exactly the judged bytes" ["c"] "commit";
    Screen Discard "discard" "discard it: put the incumbent back on disk; the attempt stays in git" ["d"] "discard";
    Screen Undo "undo" "take the last keep or discard back, as long as nothing was built on it" ["u"] "";
    Screen Auto "auto-decide" "keep what is right and faster, discard what is slower, the same or wrong; or leave it to you" ["a"] "";
    Screen Rerun "rerun" "judge the present bytes once more" ["r"] "rerun";
    Screen Check "check" "check the present bytes for wild accesses and races, with the tools of `lab check`" ["s"] "";
    Screen Stop "stop" "end the run that goes on; it leaves no verdict" ["x"] "";
    Screen Edit "edit" "open the kernel in your editor, at the source's cursor or the first error" ["e"] "edit";
    Screen Bench "show-bench" "the view Bench: right, fast, git log, run.log" ["1"] "";
    Screen Source "show-source" "the view Source: the kernel, its changes and the compiler's words" ["2"] "";
    Screen Results "show-results" "the view Results: every experiment, and one whole" ["3"] "";
    Screen Git "show-git" "the view Git: commits and what they changed" ["4"] "";
    Screen Device "show-device" "the view Device: its state over time, and the kernel as built" ["5"] "";
    Screen Pause "pause" "stop watching the kernel, or go on" ["p"] "pause";
    Screen FocusNext "next-pane" "focus the next pane" ["tab", "l", "right"] "focus";
    Screen FocusPrevious "previous-pane" "focus the previous pane" ["shift-tab", "h", "left"] "";
    Screen Zoom "zoom" "give the focused pane the whole screen, or take it back" ["z"] "zoom";
    Screen Open "open" "open what is selected; where nothing is, zoom" ["enter"] "";
    Screen Up "up" "scroll up, or select the one above" ["k", "up"] "";
    Screen Down "down" "scroll down, or select the one below" ["j", "down"] "";
    Screen HalfUp "half-page-up" "half a page up" ["ctrl-u", "pageup"] "";
    Screen HalfDown "half-page-down" "half a page down" ["ctrl-d", "pagedown"] "";
    Screen Top "top" "to the beginning" ["g", "home"] "";
    Screen Bottom "bottom" "to the end; run.log is followed from there" ["G", "end"] "";
    Screen Search "search" "search in the focused pane, else in run.log; small letters find capitals" ["/"] "search";
    Screen Close "close" "close what is on top: a dialog, a search, a zoom; or cancel a keep" ["esc"] "";
    Screen Palette "palette" "every action with its key, by a part of its name; a number: that line" [":"] "";
    Screen Copy "copy" "copy what the focused pane is about, by the terminal: over ssh too" ["y"] "";
    Screen Themes "theme" "choose a theme, seen while choosing" ["t"] "";
    Screen BorderLeft "border-left" "move the border beside the focused pane to the left" ["ctrl-left"] "";
    Screen BorderRight "border-right" "move it to the right" ["ctrl-right"] "";
    Screen BorderUp "border-up" "move the border above or below the focused pane up" ["ctrl-up"] "";
    Screen BorderDown "border-down" "move it down" ["ctrl-down"] "";
    Screen ResetBorders "reset-borders" "put every border back where it was at first" [] "";
    Screen Mouse "mouse" "hear the mouse (click, wheel, drag borders), or leave it to the terminal" [] "";
    Screen ReloadConfig "reload-config" "read your config.toml anew" [] "";
    Screen Help "help" "show these keys" ["?", "f1"] "help";
    Screen Suspend "suspend" "give the terminal back to the shell; `fg` comes back" ["ctrl-z"] "";
    Screen Redraw "redraw" "draw everything anew" ["ctrl-l"] "";
    Screen Quit "quit" "quit; a run that is going on is ended" ["q", "ctrl-c"] "quit";
    Screen NextMatch "next-match" "to the next row that the search finds" ["n"] "";
    Screen PreviousMatch "previous-match" "to the previous one" ["N"] "";
    Screen ScrollLeft "scroll-left" "long lines: to the left" ["<"] "";
    Screen ScrollRight "scroll-right" "long lines: to the right" [">"] "";
    Screen Context "context" "what diffs show around a change: 3 lines, 10, the whole file" ["w"] "";
    In(Bench) Freeze "freeze" "hold run.log still while the run goes on, or let go" ["f"] "freeze";
    In(Bench) Histograms "histograms" "how many differences are how large, against the limit; or the gates again" ["H"] "";
    In(Bench) Fewer "fewer" "the chart shows fewer of the newest experiments: 100, 50, 20 …" ["+", "="] "";
    In(Bench) More "more" "the chart shows more of them" ["-"] "";
    In(Bench) All "all" "the chart shows all of them" ["0"] "";
    In(Bench) LogScale "log-scale" "a logarithmic scale for the chart, or a linear one" ["L"] "";
    In(Source) TurnSource "diff" "the whole file, its changes one line under the other, or both sides beside each other" ["v"] "diff";
    In(Source) SwitchBase "base" "compare with the chosen experiment, or with the incumbent again" ["b"] "base";
    In(Source) NextMark "next-mark" "to the next message of the compiler; in a diff, and where there is none, to the next change" ["]"] "next";
    In(Source) PreviousMark "previous-mark" "to the previous one" ["["] "";
    In(Source) NextEdit "next-edit" "to the next change since what it is compared with" ["}"] "";
    In(Source) PreviousEdit "previous-edit" "to the previous one" ["{"] "";
    In(Results) SortNext "sort-by-next" "sort by the next column" ["o"] "sort";
    In(Results) SortReverse "sort-reverse" "turn the order round" ["O"] "";
    In(Results) Filter "filter" "show the rows that hold: words, status:keep, device:h200, >150k; ! before a word: not" ["f"] "filter";
    In(Results) Mark "mark" "mark the chosen one, to compare it; or take its mark away" ["space"] "mark";
    In(Results) Compare "compare" "show the two marked ones side by side; with one mark, it and the chosen one" ["="] "compare";
    In(Results) Restore "restore" "put the chosen one's kernel on disk; what is there is kept in git" ["R"] "restore";
    In(Results) Describe "describe" "put the chosen one in other words: its record and its row" ["E"] "";
    In(Results) NextSection "next-section" "to the next part of what is shown whole, or change of its diff" ["]"] "";
    In(Results) PreviousSection "previous-section" "to the part before" ["["] "";
    In(Git) NextChange "next-change" "to the next file or change of the commit" ["]"] "";
    In(Git) PreviousChange "previous-change" "to the previous one" ["["] "";
    Input Accept "accept" "do it" ["enter"] "";
    Input Abandon "abandon" "do nothing, close the dialog" ["esc", "ctrl-c"] "";
    Input PreviousChoice "previous-choice" "in a list below the line: the one above; in a trailer of few words: the word before" ["up", "ctrl-p"] "";
    Input NextChoice "next-choice" "in a list below the line: the next one; in a trailer of few words: the next word" ["down", "ctrl-n"] "";
    Input NextField "next-line" "in a commit's message: to the next line, the trailers too" ["tab"] "";
    Input PreviousField "previous-line" "to the line before" ["shift-tab"] "";
    Input Fold "trailers" "in a commit's message: show the trailers, or fold them away" ["ctrl-t"] "";
    Question Yes "yes" "yes" ["y"] "";
    Question No "no" "no" ["n", "esc", "q", "ctrl-c"] "";
}

impl Action {
    pub fn binding(self) -> &'static Binding {
        TABLE.iter().find(|b| b.action == self).expect("the table and the enum are made by one macro")
    }
}

/// The text of KEYS.md.
pub fn manual() -> String {
    let mut out = String::from(
        "# Keys\n\nMade from the table in `src/tui/keymap.rs`; a test says so when this file is out of date.\n",
    );
    for place in Place::ALL {
        if TABLE.iter().all(|b| b.place != place) {
            continue;
        }
        out.push_str(&format!("\n## {}\n\n| key | action | |\n|---|---|---|\n", place.heading()));
        for binding in TABLE.iter().filter(|b| b.place == place) {
            let keys: Vec<String> = binding
                .keys
                .iter()
                .map(|k| format!("`{}`", Key::parse(k).map_or_else(String::new, Key::label)))
                .collect();
            let keys = if keys.is_empty() { "(palette)".to_owned() } else { keys.join(" ") };
            out.push_str(&format!("| {keys} | {} | {} |\n", binding.name, binding.doc));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_table_is_one() {
        for binding in TABLE {
            for name in binding.keys {
                assert!(Key::parse(name).is_some(), "'{name}' is no key ({})", binding.name);
            }
        }
    }

    #[test]
    fn every_action_has_a_name_of_its_own_and_a_sentence() {
        for binding in TABLE {
            assert!(!binding.doc.is_empty(), "{}", binding.name);
            let same = TABLE.iter().filter(|b| b.name == binding.name).count();
            assert_eq!(same, 1, "{} is the name of {same} actions", binding.name);
        }
    }

    #[test]
    fn keys_md_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../KEYS.md");
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
