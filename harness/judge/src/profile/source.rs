//! The page `source`: samples and instructions by line. It is a block for each file: its path, the
//! function, a header, then each line of source with its instructions below.

use super::page::{Columns, count, lacks, records};
use itertools::Itertools as _;
use lab_protocol::profile::{ProfiledLine, SassLine};
use std::collections::BTreeSet;

/// The lines of a function.
#[derive(Debug, Default, PartialEq)]
pub struct SourceLines {
    /// Each with the path of its file as the report has it.
    pub lines: Vec<ProfiledLine>,
    /// What the page does not have, in words.
    pub missing: Vec<String>,
}

const SAMPLES: &str = "# Samples";
const STALL: &str = "stall_";

/// Reads the lines of a function. Where the page has several launches of the function, those of the
/// first.
pub fn read(page: &[u8], function: &str) -> Result<SourceLines, String> {
    let records = records("source", page)?;
    let mut found = SourceLines::default();
    let mut blocks = BTreeSet::new();
    let (mut file, mut block): (Option<String>, Option<Block>) = (None, None);
    for record in &records {
        match (record.get(0), record.get(1)) {
            (Some("File Path"), Some(path)) => (file, block) = (Some(path.to_owned()), None),
            (Some("Function Name"), Some(name)) => {
                let is_first = blocks.insert((file.clone(), name.to_owned()));
                file = file.filter(|_| name == function && is_first);
            }
            (Some("Line No"), Some(_)) => {
                block = file
                    .take()
                    .map(|file| Block::of(file, record, &mut found.missing))
                    .transpose()?;
            }
            _ => {
                if let Some(block) = &block {
                    block.take(record, &mut found.lines);
                }
            }
        }
    }
    if blocks.is_empty() {
        found
            .missing
            .push("lines of source: the page source of ncu's report has no file".into());
    } else if found.lines.is_empty() {
        found.missing.push(format!(
            "lines of source: ncu's report has none for {function}"
        ));
    }
    from_function_start(&mut found.lines);
    Ok(found)
}

/// The columns of one file.
struct Block {
    file: String,
    /// The place of the machine code: the second of the two columns with this name.
    sass: usize,
    address: usize,
    samples: Option<usize>,
    executed: Option<usize>,
    excess: Option<usize>,
    /// Reasons and their places.
    stalls: Vec<(String, usize)>,
}

impl Block {
    fn of(
        file: String,
        header: &csv::StringRecord,
        missing: &mut Vec<String>,
    ) -> Result<Block, String> {
        let columns = Columns::of(header);
        let address = columns.require("source", "Address")?;
        let sass = header
            .iter()
            .enumerate()
            .skip(address)
            .find(|(_, name)| *name == "Source");
        let Some((sass, _)) = sass else {
            return Err(lacks("source", "'Source' for machine code"));
        };
        let mut optional = |name: &str| {
            let at = columns.get(name);
            let what = format!("column '{name}' of the page source");
            if at.is_none() && !missing.contains(&what) {
                missing.push(what);
            }
            at
        };
        let samples =
            optional(SAMPLES).or_else(|| columns.get("Warp Stall Sampling (All Samples)"));
        let (executed, excess) = (
            optional("Instructions Executed"),
            optional("L2 Theoretical Sectors Global Excessive"),
        );
        let reason = |(name, at): (&str, usize)| {
            let reason = name
                .strip_prefix(STALL)
                .filter(|reason| !reason.contains('('))?;
            Some((reason.to_owned(), at))
        };
        let mut stalls = columns.all().filter_map(reason).collect_vec();
        stalls.sort();
        Ok(Block {
            file,
            sass,
            address,
            samples,
            executed,
            excess,
            stalls,
        })
    }

    /// Takes a line of source, or an instruction of the last one.
    fn take(&self, record: &csv::StringRecord, lines: &mut Vec<ProfiledLine>) {
        let cell = |at: Option<usize>| at.and_then(|at| record.get(at)).and_then(count);
        let samples = cell(self.samples).unwrap_or(0);
        let mut stalls = self
            .stalls
            .iter()
            .filter_map(|(reason, at)| Some((reason.clone(), cell(Some(*at)).filter(|n| *n > 0)?)))
            .collect_vec();
        stalls.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
        if let Some(line) = record.get(0).and_then(|line| line.parse().ok()) {
            let file = self.file.clone();
            let (excess_sectors, executed) = (cell(self.excess), cell(self.executed));
            lines.push(ProfiledLine {
                file,
                line,
                samples,
                stalls,
                excess_sectors,
                executed,
                sass: Vec::new(),
            });
            return;
        }
        let address = record
            .get(self.address)
            .and_then(|text| text.strip_prefix("0x"));
        // `...` stands for instructions of other lines.
        let Some(address) = address.and_then(|hex| u64::from_str_radix(hex, 16).ok()) else {
            return;
        };
        let Some(line) = lines.last_mut() else { return };
        let text = record.get(self.sass).unwrap_or_default().trim().to_owned();
        let stall = stalls.into_iter().next().map(|(reason, _)| reason);
        line.sass.push(SassLine {
            address,
            text,
            samples,
            stall,
        });
    }
}

/// Makes addresses begin at the function's first instruction.
fn from_function_start(lines: &mut [ProfiledLine]) {
    let all = lines.iter().flat_map(|line| &line.sass);
    let first = all
        .map(|instruction| instruction.address)
        .min()
        .unwrap_or(0);
    lines
        .iter_mut()
        .flat_map(|line| &mut line.sass)
        .for_each(|instruction| instruction.address -= first);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const PAGE: &str = "\"File Path\",\"/x/kernel.cu\"\n\"Function Name\",\"toy\"\n\
        \"Line No\",\"Source\",\"Address\",\"Source\",\"# Samples\",\"Instructions Executed\",\"stall_wait\",\"stall_long_sb\",\"stall_wait (Not Issued)\"\n\
        \"6\",\"y = x;\",\"-\",\"-\",\"1,005\",\"8\",\"5\",\"1000\",\"3\"\n\
        \"\",\"\",\"0x7f10\",\"      LDG.E R1, [R2]\",\"1000\",\"4\",\"0\",\"1000\",\"0\"\n\
        \"\",\"\",\"...\",\"...\",\"-\",\"-\",\"-\",\"-\",\"-\"\n\
        \"\",\"\",\"0x7f30\",\"      EXIT\",\"5\",\"4\",\"5\",\"0\",\"3\"\n";

    #[test]
    fn a_line_has_its_samples_stalls_and_instructions() {
        let read = read(PAGE.as_bytes(), "toy").unwrap();
        let [line] = read.lines.try_into().unwrap();
        assert_eq!(
            (line.file.as_str(), line.line, line.samples),
            ("/x/kernel.cu", 6, 1005)
        );
        assert_eq!(
            line.stalls,
            [("long_sb".to_owned(), 1000), ("wait".to_owned(), 5)]
        );
        assert_eq!((line.executed, line.excess_sectors), (Some(8), None));
        let sass: Vec<_> = line
            .sass
            .iter()
            .map(|s| (s.address, s.text.as_str(), s.stall.as_deref()))
            .collect();
        assert_eq!(
            sass,
            [
                (0, "LDG.E R1, [R2]", Some("long_sb")),
                (0x20, "EXIT", Some("wait"))
            ]
        );
        assert_eq!(
            read.missing,
            ["column 'L2 Theoretical Sectors Global Excessive' of the page source"]
        );
    }

    #[test]
    fn lines_of_another_function_and_of_a_second_launch_are_left_out() {
        assert_eq!(
            read(PAGE.repeat(2).as_bytes(), "toy").unwrap().lines.len(),
            1
        );
        let other = read(PAGE.as_bytes(), "another").unwrap();
        assert_eq!((other.lines.len(), other.missing.len()), (0, 1));
    }

    #[test]
    fn other_columns_and_an_empty_page_are_told_in_words() {
        let other = PAGE.replace("\"Address\"", "\"Place\"");
        assert!(
            read(other.as_bytes(), "toy")
                .unwrap_err()
                .contains("no column 'Address'")
        );
        assert!(read(b"", "toy").unwrap().missing[0].contains("no file"));
        // Half a page: what is whole is read.
        let half = &PAGE[..PAGE.len() - 30];
        assert_eq!(read(half.as_bytes(), "toy").unwrap().lines[0].sass.len(), 2);
    }
}
