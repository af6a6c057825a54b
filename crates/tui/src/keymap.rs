//! Every action of the screen in one table: its name, what it does and its keys. The help page, the
//! hint bar and KEYS.md are made from this table, so they cannot disagree. A [`Keymap`] holds the
//! keys of the table as the user's config changes them.
//!
//! No key takes a count, because a digit shows a view at once. The palette goes to a row by its
//! number (`:120`).

mod key;
mod map;

pub use key::Key;
pub use map::{KeyConflict, Keymap};

use crate::views::View;

/// Where the keys of an action work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyScope {
    /// In every view, but not in a dialog.
    Screen,
    /// In one view.
    In(View),
    /// In a dialog with an input line.
    Input,
    /// In a question that is answered with yes or no.
    Question,
}

impl KeyScope {
    /// All scopes, in the order of the help page.
    pub fn all() -> impl Iterator<Item = KeyScope> {
        let views = View::ALL.iter().copied().map(KeyScope::In);
        let views = std::iter::once(KeyScope::Screen).chain(views);
        views.chain([KeyScope::Input, KeyScope::Question])
    }

    /// The heading of its actions on the help page.
    pub fn heading(self) -> String {
        match self {
            KeyScope::Screen => "Everywhere".to_owned(),
            KeyScope::In(view) => format!("In the view {}", view.name()),
            KeyScope::Input => "In an input line".to_owned(),
            KeyScope::Question => "In a question".to_owned(),
        }
    }

    /// Its name in the user's config. Empty for [`KeyScope::Screen`], whose keys are in `[keys]`
    /// itself.
    pub fn name(self) -> String {
        match self {
            KeyScope::Screen => String::new(),
            KeyScope::In(view) => view.name().to_lowercase(),
            KeyScope::Input => "input".to_owned(),
            KeyScope::Question => "question".to_owned(),
        }
    }

    /// Whether the action of `binding` can be bound here.
    pub fn accepts(self, binding: &Binding) -> bool {
        self == binding.scope
            || matches!((self, binding.scope), (KeyScope::In(_), KeyScope::Screen))
    }
}

/// One row of the table: an action with its default keys.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    pub action: Action,
    pub scope: KeyScope,
    /// Whether it judges or decides, or changes the kernel or what is remembered of it. A screen that
    /// only shows a kernel refuses it.
    pub is_change: bool,
    /// Its name in the config and the palette.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub doc: &'static str,
    /// Default keys, in the form of [`Key::parse`]. Hints show the first one.
    pub keys: &'static [&'static str],
    /// One word for the hint bar. Empty where the hint bar does not show the action.
    pub hint: &'static str,
}

impl Binding {
    /// Its name in plain words, for messages: `next match` of `next-match`.
    pub fn words(&self) -> String {
        self.name.replace('-', " ")
    }
}

macro_rules! changes {
    (Changes) => {
        true
    };
    (Shows) => {
        false
    };
}

macro_rules! actions {
    ($($scope:ident$(($view:ident))? $effect:ident $action:ident $name:literal $doc:literal [$($key:literal),*] $hint:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        /// What a key can do.
        pub enum Action { $($action),* }

        /// All actions, in the order of the help page.
        pub const TABLE: &[Binding] = &[$(Binding {
            action: Action::$action,
            scope: KeyScope::$scope$((View::$view))?,
            is_change: changes!($effect),
            name: $name,
            doc: $doc,
            keys: &[$($key),*],
            hint: $hint,
        }),*];
    };
}

actions! {
    Screen Changes Keep "keep" "Keep this experiment: commit exactly the judged bytes; during a run: once the run has passed" ["c"] "keep";
    Screen Changes Discard "discard" "Discard this experiment: put the incumbent back on disk; the attempt stays in git; during a run: once the run has ended" ["d"] "discard";
    Screen Changes Undo "undo" "Undo the last keep or discard, if nothing was built on it" ["u"] "undo";
    Screen Changes ByRule "decide-by-rule" "Let a rule decide each run of a save, or decide yourself again: it keeps what is faster, discards what is slower, the same or wrong" ["a"] "by rule";
    Screen Changes Rerun "rerun" "Judge the present bytes again" ["r"] "rerun";
    Screen Changes Measure "measure" "Measure the present bytes longer, on more workloads and beside the peers, as `lab bench --verdict` does" ["m"] "";
    Screen Changes Check "check" "Check the present bytes for invalid memory accesses and races, as `lab check` does; during a run: once the run has ended" ["s"] "";
    Screen Changes Profile "profile" "Profile the present bytes once, as `lab profile --set full` does; the view Device shows the result" ["P"] "";
    Screen Changes Cite "add-evidence" "Make evidence of a decision: in Results from the selected experiment, in Device from the profile, in Sweep from the sweep, in Decisions from the newest bench" ["+"] "";
    Screen Changes Stop "stop" "Stop the run in progress; it leaves no verdict" ["x"] "stop";
    Screen Shows Edit "edit" "Open the kernel in your editor, at the cursor of Source or at the first error" ["e"] "edit";
    Screen Shows Bench "show-bench" "Show the view Bench: correctness, throughput, git log, run.log" ["1"] "";
    Screen Shows Source "show-source" "Show the view Source: the kernel, its changes and the compiler's messages" ["2"] "";
    Screen Shows Results "show-results" "Show the view Results: the table of experiments, and the details of one" ["3"] "";
    Screen Shows Git "show-git" "Show the view Git: commits and what they changed" ["4"] "";
    Screen Shows Device "show-device" "Show the view Device: the device's state over time, and the kernel as built" ["5"] "";
    Screen Shows Decisions "show-decisions" "Show the view Decisions: claims, their status by rule and their evidence" ["6"] "";
    Screen Shows Loop "show-loop" "Show the view Loop: what `lab auto` does, its edits and its verdicts" ["7"] "";
    Screen Shows Sweep "show-sweep" "Show the view Sweep: the newest sweep of the kernel's constants, with its map and its points" ["8"] "";
    Screen Changes Pause "pause" "Pause watching: saves start no run; press again to resume" ["p"] "pause";
    Screen Shows FocusNext "next-pane" "Focus the next pane" ["tab", "l", "right"] "focus";
    Screen Shows FocusPrevious "previous-pane" "Focus the previous pane" ["shift-tab", "h", "left"] "";
    Screen Shows Zoom "zoom" "Show the focused pane alone, or all panes again" ["z"] "zoom";
    Screen Shows Open "open" "Open the selected row: a workload as a chart over the experiments, a profiled line with its machine code, the run, bench or sweep behind a decision; if nothing is selected, zoom" ["enter"] "";
    Screen Shows Up "up" "Scroll up, or select the row above" ["k", "up"] "";
    Screen Shows Down "down" "Scroll down, or select the row below" ["j", "down"] "";
    Screen Shows HalfUp "half-page-up" "Scroll half a page up" ["ctrl-u", "pageup"] "";
    Screen Shows HalfDown "half-page-down" "Scroll half a page down" ["ctrl-d", "pagedown"] "";
    Screen Shows Top "top" "Go to the beginning" ["g", "home"] "";
    Screen Shows Bottom "bottom" "Go to the end; run.log then scrolls with new lines" ["G", "end"] "";
    Screen Shows Search "search" "Search in the focused pane, or else in run.log; lower-case letters also find capitals" ["/"] "search";
    Screen Shows Close "close" "Close the topmost dialog, search or zoom, or cancel a keep" ["esc"] "";
    Screen Shows Palette "palette" "Find an action by a part of its name, or go to a row by its number" [":"] "";
    Screen Shows Copy "copy" "Copy what the focused pane shows, through the terminal; this works over ssh too" ["y"] "";
    Screen Shows CopyAll "copy-all" "Copy all rows of the focused pane: the table, the diff, the log" ["Y"] "";
    Screen Shows Export "export" "Write what the focused pane shows into a file in .lab/exports: the chart as SVG, the table, the diff, the text" [] "";
    Screen Shows Themes "theme" "Choose a theme; the screen shows each theme while you choose" ["t"] "";
    Screen Shows Kernels "kernel" "Open another kernel of this repository; a run in progress is stopped" ["ctrl-o"] "";
    Screen Shows BorderLeft "border-left" "Move the border beside the focused pane to the left" ["ctrl-left"] "";
    Screen Shows BorderRight "border-right" "Move the border beside the focused pane to the right" ["ctrl-right"] "";
    Screen Shows BorderUp "border-up" "Move the border above or below the focused pane up" ["ctrl-up"] "";
    Screen Shows BorderDown "border-down" "Move the border above or below the focused pane down" ["ctrl-down"] "";
    Screen Shows ResetBorders "reset-borders" "Put all borders back to their default positions" [] "";
    Screen Shows Mouse "mouse" "Use the mouse on the screen (click, wheel, drag borders), or leave it to the terminal" [] "";
    Screen Shows ReloadConfig "reload-config" "Read your config.toml again" [] "";
    Screen Shows Help "help" "Show all keys" ["?", "f1"] "help";
    Screen Shows Suspend "suspend" "Suspend `lab` and return to the shell; `fg` continues it" ["ctrl-z"] "";
    Screen Shows Redraw "redraw" "Draw the whole screen again" ["ctrl-l"] "";
    Screen Shows Quit "quit" "Quit; a run in progress is stopped" ["q", "ctrl-c"] "quit";
    Screen Shows NextMatch "next-match" "Go to the next match of the search" ["n"] "";
    Screen Shows PreviousMatch "previous-match" "Go to the previous match of the search" ["N"] "";
    Screen Shows ScrollLeft "scroll-left" "Scroll long lines to the left" ["<"] "";
    Screen Shows ScrollRight "scroll-right" "Scroll long lines to the right" [">"] "";
    Screen Shows Context "context" "Change how much diffs show around a change: 3 lines, 10 lines, the whole file" ["w"] "";
    Screen Shows NextDevice "device" "Show the experiments of the next device alone, in chart and table, or those of the present device again" ["D"] "";
    In(Bench) Shows Freeze "freeze" "Freeze run.log while the run goes on, or follow it again" ["f"] "freeze";
    In(Bench) Shows Histograms "histograms" "Show histograms of the differences against the limit, or the gates again" ["H"] "";
    In(Bench) Shows WrongCells "wrong-cells" "Look at all cells of a wrong output, as the keys scroll; those of a search go from wrong cell to wrong cell" ["i"] "";
    In(Bench) Shows Exchange "exchange" "On a small screen: show workloads and chart in place of gates and run.log, or these again" ["v"] "charts";
    In(Bench) Shows Fewer "fewer" "Show fewer of the newest experiments in the chart: 100, 50, 20 …" ["+", "="] "";
    In(Bench) Shows More "more" "Show more of the newest experiments in the chart" ["-"] "";
    In(Bench) Shows All "all" "Show all experiments in the chart" ["0"] "";
    In(Bench) Shows LogScale "log-scale" "Switch the chart between a logarithmic and a linear scale" ["L"] "";
    In(Bench) Shows SortWorkloads "sort-workloads" "Sort the workloads by the next column, or put them in their own order again" ["o"] "";
    In(Bench) Shows ReverseWorkloads "reverse-workloads" "Reverse the order of the workloads" ["O"] "";
    In(Source) Shows TurnSource "diff" "Show the whole file, or its changes in one column, or both sides next to each other" ["v"] "diff";
    In(Source) Shows SwitchBase "base" "Compare with the selected experiment, or with the incumbent again" ["b"] "base";
    In(Source) Shows NextMark "next-mark" "Go to the next compiler message or hot line of the profile; in a diff, or without either, to the next change" ["]"] "next";
    In(Source) Shows PreviousMark "previous-mark" "Go to the previous compiler message, hot line or change" ["["] "";
    In(Source) Shows NextEdit "next-edit" "Go to the next change" ["}"] "";
    In(Source) Shows PreviousEdit "previous-edit" "Go to the previous change" ["{"] "";
    In(Results) Shows SortNext "sort-by-next" "Sort by the next column; with the focus in Workloads, sort those" ["o"] "sort";
    In(Results) Shows SortReverse "sort-reverse" "Reverse the order" ["O"] "";
    In(Results) Shows Filter "filter" "Filter the rows: words, status:keep, device:h200, diff:ldg, >150k; ! before a word excludes it" ["f"] "filter";
    In(Results) Shows AllProblems "all-problems" "Show the experiments of all problems, or of this problem alone" ["P"] "";
    In(Results) Shows Mark "mark" "Mark the selected experiment for a comparison, or remove its mark" ["space"] "mark";
    In(Results) Shows Compare "compare" "Compare the two marked experiments, or the marked one with the chosen one" ["="] "compare";
    In(Results) Changes Restore "restore" "Put the kernel of the selected experiment on disk; the present one stays in git" ["R"] "restore";
    In(Results) Changes Describe "describe" "Change the description of the selected experiment, in its record and in its row" ["E"] "";
    In(Results) Changes Annotate "annotate" "Give the selected experiment a note, tags or another trailer, in its record" ["T"] "";
    In(Results) Shows NextSection "next-section" "Go to the next section of the details, or to the next change of the diff" ["]"] "";
    In(Results) Shows PreviousSection "previous-section" "Go to the previous section or change" ["["] "";
    In(Git) Shows NextChange "next-change" "Go to the next file or change of the commit" ["]"] "next";
    In(Git) Shows PreviousChange "previous-change" "Go to the previous file or change of the commit" ["["] "";
    In(Loop) Changes PauseLoop "pause-loop" "Let the loop pause after this turn, or go on again" ["space"] "pause loop";
    In(Loop) Changes EndLoop "end-loop" "Let the loop end after this turn" ["X"] "end loop";
    In(Loop) Changes EndTurn "end-turn" "End this turn of the loop: its command, or the run that judges its kernel, ends at once" ["x"] "end turn";
    In(Sweep) Shows NextPair "next-pair" "Show the map over the next two constants" ["o"] "next pair";
    In(Sweep) Changes ApplyPoint "apply-point" "Write the selected point of the sweep, at first the best, into the kernel on disk; the present one stays in git" ["R"] "apply";
    Input Shows Accept "accept" "Confirm" ["enter"] "";
    Input Shows Abandon "abandon" "Close the dialog and do nothing; typed text stays as a draft" ["esc", "ctrl-c"] "";
    Input Shows PreviousChoice "previous-choice" "Select the previous item of a list, or the previous value of a trailer" ["up", "ctrl-p"] "";
    Input Shows NextChoice "next-choice" "Select the next item of a list, or the next value of a trailer" ["down", "ctrl-n"] "";
    Input Shows NextField "next-line" "Go to the next trailer of the message; folded trailers open; in an annotation, from the note to the tags and back" ["tab"] "";
    Input Shows PreviousField "previous-line" "Go to the previous trailer of the message, or back to its subject" ["shift-tab"] "";
    Input Shows Fold "trailers" "Show or hide the trailers of the commit message" ["ctrl-t"] "";
    Question Shows Yes "yes" "Answer yes" ["y"] "";
    Question Shows No "no" "Answer no" ["n", "esc", "q", "ctrl-c"] "";
}

impl Action {
    /// Its row of the table.
    pub fn binding(self) -> &'static Binding {
        TABLE
            .iter()
            .find(|b| b.action == self)
            .expect("the table and the enum are made by one macro")
    }

    /// Its name at the beginning of a title: `Keep`.
    pub fn title(self) -> String {
        let (first, rest) = self.binding().name.split_at(1);
        first.to_uppercase() + rest
    }
}

/// The text of KEYS.md: all actions with their default keys, as Markdown.
pub fn manual() -> String {
    let mut out = String::from(
        "# Keys\n\nThe default keys of the screen. `[keys]` in your config.toml changes them; an action without a key is in the palette (`:`).\n\n\
         This page is generated from the table in `crates/tui/src/keymap.rs`; a test fails if it is out of date.\n",
    );
    for scope in KeyScope::all() {
        if TABLE.iter().all(|b| b.scope != scope) {
            continue;
        }
        out += &format!(
            "\n## {}\n\n| Key | Action | What it does |\n|---|---|---|\n",
            scope.heading()
        );
        for binding in TABLE.iter().filter(|b| b.scope == scope) {
            let keys: Vec<String> = binding
                .keys
                .iter()
                .map(|k| {
                    let label = Key::parse(k).map_or_else(String::new, Key::label);
                    format!("`{label}`{}", except(binding, k))
                })
                .collect();
            let keys = if keys.is_empty() {
                "(palette)".to_owned()
            } else {
                keys.join(" ")
            };
            out += &format!("| {keys} | {} | {} |\n", binding.name, binding.doc);
        }
    }
    out
}

/// The views in which a key of an action that works everywhere does something else.
fn except(binding: &Binding, key: &str) -> String {
    let is_taken =
        |other: &&Binding| matches!(other.scope, KeyScope::In(_)) && other.keys.contains(&key);
    let others = TABLE.iter().filter(is_taken);
    let others = others.filter(|_| binding.scope == KeyScope::Screen);
    let views: Vec<&str> = others
        .filter_map(|other| match other.scope {
            KeyScope::In(view) => Some(view.name()),
            _ => None,
        })
        .collect();
    match views.as_slice() {
        [] => String::new(),
        views => format!(" (not in {})", views.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_table_is_valid() {
        for binding in TABLE {
            for name in binding.keys {
                assert!(
                    Key::parse(name).is_some(),
                    "'{name}' is not a key ({})",
                    binding.name
                );
            }
        }
    }

    #[test]
    fn every_action_has_its_own_name_and_one_sentence() {
        for binding in TABLE {
            let is_sentence =
                binding.doc.starts_with(char::is_uppercase) && !binding.doc.ends_with('.');
            assert!(is_sentence, "{}: '{}'", binding.name, binding.doc);
            let same = TABLE.iter().filter(|b| b.name == binding.name).count();
            assert_eq!(same, 1, "{same} actions are named {}", binding.name);
        }
    }

    #[test]
    fn keys_md_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../KEYS.md");
        if std::env::var_os("LAB_WRITE_KEYS").is_some() {
            std::fs::write(path, manual()).expect("KEYS.md is writable");
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == manual(),
            "KEYS.md is out of date: run `LAB_WRITE_KEYS=1 cargo test -p lab-tui keys_md` and commit it"
        );
    }
}
