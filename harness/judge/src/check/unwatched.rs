//! The lines of a kernel that access memory and at which the race detector looked in no case.

use super::{SourceLine, symbolize};
use crate::outcome::{OrLab, Stop};
use itertools::Itertools as _;
use lab_device::cpu::Executed;
use lab_device::watched_instructions;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The instructions of an instrumented image that access memory, and what is known of them.
pub struct WatchedCode {
    image: PathBuf,
    /// An instruction is named by the address that follows it, from the image's beginning.
    all: Vec<u64>,
    watched: HashSet<u64>,
    executed: HashSet<u64>,
    /// Of the instructions in `all`; looked up at the first need.
    places: Option<HashMap<u64, SourceLine>>,
}

impl WatchedCode {
    /// Reads the instructions of an image.
    pub fn of(image: &Path) -> Result<WatchedCode, Stop> {
        let bytes =
            std::fs::read(image).or_lab(|| format!("cannot read the built {}", image.display()))?;
        Ok(WatchedCode {
            image: image.to_owned(),
            all: watched_instructions(&bytes),
            watched: HashSet::new(),
            executed: HashSet::new(),
            places: None,
        })
    }

    /// Adds what further launches executed.
    pub fn add(&mut self, executed: &Executed) {
        self.watched.extend(&executed.watched);
        self.executed.extend(&executed.watched);
        self.executed.extend(&executed.unwatched);
    }

    /// The lines at which the detector did not look, as in `lines 12, 41-47 of kernel.cu`; only
    /// those that a launch executed, or all. `None` if there are none.
    pub fn unwatched_lines(&mut self, only_executed: bool) -> Result<Option<String>, Stop> {
        if self.all.iter().all(|pc| self.watched.contains(pc)) {
            return Ok(None);
        }
        let places = match &mut self.places {
            Some(places) => places,
            places => {
                let calls = self.all.iter().map(|pc| pc - 1);
                places.insert(symbolize::resolve(&self.image, calls)?)
            }
        };
        let lines = |is_wanted: &dyn Fn(&u64) -> bool| -> BTreeSet<&SourceLine> {
            let wanted = self.all.iter().filter(|pc| is_wanted(pc));
            wanted.filter_map(|pc| places.get(&(pc - 1))).collect()
        };
        let watched = lines(&|pc| self.watched.contains(pc));
        let named = lines(&|pc| !only_executed || self.executed.contains(pc));
        Ok(in_words(&watched, named.difference(&watched).copied()))
    }
}

/// Names lines, ascending. Two of them are in one range if none of the watched lines is between.
fn in_words<'a>(
    watched: &BTreeSet<&SourceLine>,
    lines: impl Iterator<Item = &'a SourceLine>,
) -> Option<String> {
    let mut files: BTreeMap<&str, Vec<(&SourceLine, &SourceLine)>> = BTreeMap::new();
    for line in lines {
        let ranges = files.entry(&line.file).or_default();
        let last = ranges.last_mut().map(|(_, last)| last);
        let mut between = last
            .iter()
            .flat_map(|last| watched.range::<&SourceLine, _>(**last..line));
        let is_apart = between.next().is_some();
        match last {
            Some(last) if !is_apart => *last = line,
            _ => ranges.push((line, line)),
        }
    }
    let mut named = Vec::new();
    for (file, ranges) in &files {
        let is_one = ranges.len() == 1 && ranges[0].0 == ranges[0].1;
        let mut ranges = ranges.iter().map(|(first, last)| {
            if first == last {
                first.line.to_string()
            } else {
                format!("{}-{}", first.line, last.line)
            }
        });
        let ranges = ranges.join(", ");
        let lines = if is_one { "line" } else { "lines" };
        named.push(format!("{lines} {ranges} of {file}"));
    }
    (!named.is_empty()).then(|| named.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_named_by_file_in_ranges_that_a_watched_line_divides() {
        let at = |file: &str, line: u32| SourceLine {
            file: file.into(),
            line,
        };
        let watched = [at("kernel.cu", 20), at("kernel.cu", 44)];
        let lines = [
            at("kernel.cu", 12),
            at("kernel.cu", 41),
            at("kernel.cu", 43),
            at("kernel.cu", 45),
            at("part.h", 7),
        ];
        let check = |count: usize, wanted: Option<&str>| {
            let words = in_words(&watched.iter().collect(), lines[..count].iter());
            assert_eq!(words.as_deref(), wanted);
        };
        check(0, None);
        check(1, Some("line 12 of kernel.cu"));
        let all = "lines 12, 41-43, 45 of kernel.cu and line 7 of part.h";
        check(5, Some(all));
    }
}
