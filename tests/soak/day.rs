//! The random actions of a user who does not look at the screen, and some decisions.

use crate::bench::{Bench, Lab};
use crate::books::{Books, ledger};
use crate::hands::{ACTIONS, KEYS, SIZES};
use crate::kernel::{HARNESS, Kernel, UNLUCKY, WORDS};
use crate::random::Random;
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Ctrl-U, because the dialog shows the text of an unused discard again.
const CLEAR: &str = "\x15";

type Deed = fn(&mut Day);

/// The actions of this test, each by its name.
const DEEDS: &[(&str, Deed)] = &[
    ("keeps", |day| day.keep()),
    ("discards", |day| day.discard()),
    ("descriptions", |day| day.describe()),
    ("restores", |day| day.restore()),
    ("undos", |day| day.undo()),
    ("saves over a discard", |day| day.discard_and_save()),
    ("decisions by rule", |day| day.decide_by_rule()),
    ("actions of the palette", |day| day.palette()),
    ("themes", |day| day.theme()),
];

pub struct Day<'a> {
    bench: &'a Bench,
    lab: Lab,
    random: Random,
    /// The number of the last kernel.
    number: u64,
    books: Books,
    /// How often all dialogs were closed.
    rests: u64,
    done: BTreeMap<&'static str, usize>,
}

impl<'a> Day<'a> {
    pub fn begin(bench: &'a Bench, seed: u64) -> Self {
        fs::write(bench.repo().join("harness.sh"), HARNESS).unwrap();
        bench.git(&["commit", "-q", "-a", "-m", "a harness for a long day"]);
        // The editor changes nothing.
        let lab = bench.open_with(160, 45, &[("EDITOR", Path::new("true"))]);
        lab.see("● PASS");
        let (random, books, done) = (Random(seed), Books::default(), BTreeMap::new());
        Day {
            bench,
            lab,
            random,
            number: 1_000,
            books,
            rests: 0,
            done,
        }
    }

    pub fn pid(&self) -> Pid {
        self.lab.pid()
    }

    /// Each action, with some keys in between.
    pub fn everything_once(&mut self) {
        for (name, deed) in DEEDS {
            for _ in 0..10 {
                self.go_on();
            }
            self.count(name);
            deed(self);
        }
    }

    /// Does one action.
    pub fn go_on(&mut self) {
        match self.random.below(1000) {
            0..100 => self.save(),
            100..180 => {
                let (columns, rows) = self.random.of(SIZES);
                self.lab.resize(columns, rows);
                self.count("resizes");
            }
            180..950 => {
                let key = self.random.of(KEYS);
                self.lab.press(key);
                std::thread::sleep(Duration::from_millis(self.random.below(20)));
                self.count("keys");
            }
            950..980 => {
                std::thread::sleep(Duration::from_millis(self.random.below(300)));
                self.count("pauses");
            }
            _ => {
                let (name, deed) = DEEDS[self.random.below(DEEDS.len() as u64) as usize];
                self.count(name);
                deed(self);
            }
        }
    }

    fn count(&mut self, what: &'static str) {
        *self.done.entry(what).or_default() += 1;
    }

    /// Closes the screen. Returns the number of each action and the decisions.
    pub fn end(mut self) -> (String, Books) {
        self.lab.press("q");
        assert_eq!(self.lab.end(), 0);
        let done: Vec<String> = self
            .done
            .iter()
            .map(|(what, times)| format!("{what} {times}"))
            .collect();
        (done.join(", "), self.books)
    }

    /// Any kernel, or none at all.
    fn save(&mut self) {
        self.count("saves");
        if self.random.below(20) == 0 {
            // The file may be gone already.
            let _ = fs::remove_file(self.bench.repo().join("kernel.cu"));
            return;
        }
        let word = self.random.of(WORDS);
        self.save_one(word);
    }

    fn save_one(&mut self, word: &'static str) -> Kernel {
        self.number += 1;
        let kernel = Kernel {
            word,
            number: self.number,
        };
        match self.random.below(2) {
            0 => self.bench.save_in_place(&kernel.text()),
            _ => self.bench.save_by_rename(&kernel.text()),
        }
        kernel
    }

    /// A screen large enough to see everything, with nothing open on it.
    fn come_to_rest(&mut self) {
        self.lab.resize(160, 45);
        // Two escapes that arrive together are one key, and a key after them is not read as a key
        // with Alt.
        let escapes = "\x1b".repeat(12);
        // An escape and letters that arrived at once may have begun a sequence that only these keys
        // end: a mouse's report, a paste.
        let ends = "M\x1b[201~";
        // The palette shows the typed text once every key before it was handled: a save now comes
        // after all of them.
        self.rests += 1;
        let mark = format!("777{}", self.rests);
        until("what was typed", &mut self.lab, |lab| {
            lab.press(&format!("{ends}{escapes}1{escapes}:{mark}"));
            lab.becomes(Duration::from_secs(2), |screen| {
                screen.contents().contains(&format!("› {mark}"))
            })
        });
        until("the bench with nothing open", &mut self.lab, |lab| {
            lab.press("\x1b\x1b");
            lab.becomes(Duration::from_secs(2), |screen| {
                let text = screen.contents();
                screen.hide_cursor() && text.contains("c keep") && text.contains("run.log")
            })
        });
    }

    /// No run is in progress, and no dialog is open.
    pub fn settle(&mut self) {
        self.judge("speed");
    }

    /// A kernel that is saved and judged, with nothing open on the screen.
    fn judge(&mut self, word: &'static str) -> Kernel {
        self.come_to_rest();
        let kernel = self.save_one(word);
        self.lab.see_verdict(&kernel.verdict());
        kernel
    }

    fn keep(&mut self) {
        self.decide("speed", true);
    }

    fn discard(&mut self) {
        let word = self.random.of(UNLUCKY);
        self.decide(word, false);
    }

    /// One experiment, kept or discarded by its keys.
    fn decide(&mut self, word: &'static str, keeps: bool) {
        let kernel = self.judge(word);
        self.ask(if keeps { "c" } else { "d" });
        let description = format!("tried-{}.", kernel.number);
        self.lab.press(&format!("{CLEAR}{description}\r"));
        let before = self.books.ledger();
        self.see_row(
            &before,
            &description,
            if keeps { "kept as" } else { "discarded" },
        );
        self.books.enter(self.bench, kernel, keeps, description);
        if !keeps {
            self.books.replaced.insert(kernel.text());
        }
    }

    /// The dialog before a keep or a discard. The check of disk and git that allows it comes after
    /// the verdict.
    fn ask(&mut self, key: &str) {
        until("the dialog", &mut self.lab, |lab| {
            let refused = |screen: &vt100::Screen| screen.contents().contains(": not now");
            let asked = |screen: &vt100::Screen| screen.contents().contains("What did you try?");
            lab.press(key).wait("an answer to the key", |screen| {
                asked(screen) || refused(screen)
            });
            let open = lab.becomes(Duration::ZERO, asked);
            if !open {
                lab.press("\x1b\x1b")
                    .wait("a closed dialog", |screen| !refused(screen));
            }
            open
        });
    }

    /// A save at the moment of a discard is judged or, if it comes between the discard's check and
    /// its writing, stored. It is never lost.
    fn discard_and_save(&mut self) {
        let kernel = self.judge("off");
        self.ask("d");
        let description = format!("tried-{}.", kernel.number);
        self.lab.press(&format!("{CLEAR}{description}\r"));
        std::thread::sleep(Duration::from_millis(self.random.below(8)));
        let (later, bench) = (self.save_one("speed"), self.bench);
        let is_gone = || {
            ledger(bench).ends_with(&format!("\t{description}\n")) && on_disk(bench) != later.text()
        };
        self.lab.wait(
            &format!("what comes of the save of {}", later.number),
            |screen| {
                let text = screen.contents();
                let is_judged = text.contains(&later.verdict()) && !text.contains(" last  ");
                is_judged || (text.contains("discarded") && is_gone())
            },
        );
        self.come_to_rest();
        if ledger(bench).lines().skip(1).count() > self.books.rows.len() {
            self.books.enter(bench, kernel, false, description);
            self.books.replaced.insert(kernel.text());
        }
        if on_disk(bench) != later.text() {
            self.books.replaced.insert(later.text());
        }
    }

    /// One more row in the ledger, with this description, and this word on the screen.
    fn see_row(&mut self, before: &str, description: &str, word: &str) {
        let bench = self.bench;
        self.lab
            .wait(&format!("the row of '{description}'"), |screen| {
                let text = ledger(bench);
                let is_new =
                    text.len() > before.len() && text.ends_with(&format!("\t{description}\n"));
                is_new && screen.contents().contains(word)
            });
    }

    /// A wrong kernel that the rule discards.
    fn decide_by_rule(&mut self) {
        self.settle();
        self.lab.press("a").see("Decide by rule?");
        self.lab.press("y").see("RULE DECIDES");
        let before = self.books.ledger();
        let kernel = self.save_one("off");
        let description = format!("by rule: {}", kernel.verdict());
        self.see_row(&before, &description, "discarded");
        self.lab.press("a").wait("no rule", |screen| {
            !screen.contents().contains("RULE DECIDES")
        });
        self.books.enter(self.bench, kernel, false, description);
        self.books.replaced.insert(kernel.text());
    }

    fn undo(&mut self) {
        if self.books.rows.is_empty() {
            return self.keep();
        }
        let before = self.judge("speed");
        let row = self.books.take_back();
        self.lab.press("u").see("Undo?").see(&row.commit);
        // The attempt is on disk again; the commit of a keep is still there.
        let there = if row.is_kept { before } else { row.kernel }.text();
        let (bench, rows) = (self.bench, self.books.ledger());
        self.lab.press("y").wait("the undo", |screen| {
            let done = ledger(bench) == rows && on_disk(bench) == there;
            done && screen.contents().contains("is open again")
        });
        self.books
            .replaced
            .extend((!row.is_kept).then(|| before.text()));
    }

    /// Opens the view Results with one selected row of any experiment. Returns the experiment.
    fn choose(&mut self) -> usize {
        if self.books.rows.is_empty() {
            self.keep();
        }
        self.judge("speed");
        let at = self.random.below(self.books.rows.len() as u64) as usize;
        let commit = self.books.rows[at].commit.clone();
        let escapes = "\x1b".repeat(8);
        self.lab.press(&format!("3{escapes}f\x15commit:{commit}\r"));
        // The filter shows one of them, the row the other.
        self.lab.wait("the row", |screen| {
            screen.contents().matches(&commit).count() > 1
        });
        at
    }

    fn describe(&mut self) {
        let at = self.choose();
        self.lab.press("E").see("Describe ");
        self.number += 1;
        let description = format!("told-{}.", self.number);
        self.lab
            .press(&format!("\x15{description}\r"))
            .see(&format!("is now '{description}'"));
        self.books.rows[at].description = description;
        assert_eq!(ledger(self.bench), self.books.ledger());
    }

    fn restore(&mut self) {
        let at = self.choose();
        let (bench, before, wanted) = (
            self.bench,
            on_disk(self.bench),
            self.books.rows[at].kernel.text(),
        );
        let question = format!("Restore {}?", self.books.rows[at].commit);
        self.lab.press("R").see(&question);
        // The words alone may be from the restore before this one.
        self.lab.press("y").wait("the restore", |screen| {
            on_disk(bench) == wanted && screen.contents().contains("now has the bytes of")
        });
        self.books.replaced.insert(before);
    }

    fn palette(&mut self) {
        self.come_to_rest();
        let action = self.random.of(ACTIONS);
        self.lab.press(":").see(" Actions ");
        self.lab.press(action).see(&format!("› {action}"));
        self.lab.press("\r");
    }

    /// Looks at some of them, and takes the last one or not.
    fn theme(&mut self) {
        self.come_to_rest();
        self.lab.press("t").see(" Themes ").see("dark");
        for _ in 0..self.random.below(8) {
            self.lab.press("\x1b[B");
        }
        let end = self.random.of(&["\r", "\x1b\x1b"]);
        self.lab.press(end).wait("no chooser", |screen| {
            !screen.contents().contains(" Themes ")
        });
    }
}

/// The bytes on disk, if there is a file.
fn on_disk(bench: &Bench) -> String {
    fs::read_to_string(bench.repo().join("kernel.cu")).unwrap_or_default()
}

/// Repeats the check until it holds.
fn until(what: &str, lab: &mut Lab, mut is_so: impl FnMut(&mut Lab) -> bool) {
    let began = Instant::now();
    while !is_so(lab) {
        if began.elapsed() > Duration::from_secs(60) {
            lab.wait(what, |_| false);
        }
    }
}
