//! NVIDIA's Nsight Compute, `ncu`: where it is, its version, and its command lines.

use super::metrics;
use crate::process::limited::{self, Limit};
use crate::toolkit;
use itertools::Itertools as _;
use lab_protocol::profile::ProfileSet;
use lab_system::listing;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What to do if ncu is missing.
pub const REMEDY: &str = "ncu is not here. Nsight Compute comes with the CUDA toolkit (Debian, Ubuntu: apt install \
                          nsight-compute-2025.3.1, or a later one); put ncu on the path, or name it with LAB_NCU";

/// The oldest version whose pages the lab reads.
pub const OLDEST: (u32, u32) = (2023, 1);

/// How long `ncu --version` may take: it unpacks and reads its own files at the first start.
const VERSION_LIMIT: Limit = Limit {
    time: Duration::from_secs(30),
    bytes: 64 << 10,
};

/// How long ncu may take to print a page of a report, and how long the page may be.
const PAGE_LIMIT: Limit = Limit {
    time: Duration::from_secs(120),
    bytes: 64 << 20,
};

/// An ncu on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ncu {
    /// The program.
    pub path: PathBuf,
    /// As in `2025.3.1.0`.
    pub version: String,
}

/// The pages of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    Raw,
    Details,
    Source,
}

impl Page {
    /// ncu's name of the page.
    pub fn name(self) -> &'static str {
        match self {
            Page::Raw => "raw",
            Page::Details => "details",
            Page::Source => "source",
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Page::Raw => &[],
            Page::Details => &[
                "--print-details",
                "all",
                "--print-metric-name",
                "label-name",
            ],
            Page::Source => &["--print-source", "cuda,sass"],
        }
    }
}

/// Searches the path, the toolkit, and the folder of Nsight Compute.
pub fn find() -> Option<PathBuf> {
    let own = versions_in(Path::new("/opt/nvidia/nsight-compute"));
    toolkit::find("ncu", &["bin"], own)
}

/// The folders in this one, the newest version first.
fn versions_in(folder: &Path) -> Vec<PathBuf> {
    let entries = listing::read_dir(folder).into_iter().flatten().flatten();
    let mut all = entries.map(|entry| entry.path()).collect_vec();
    all.sort();
    all.reverse();
    all
}

impl Ncu {
    /// Asks a program for its version. The error says why it cannot be used, and what to do.
    pub fn at(path: PathBuf) -> Result<Ncu, String> {
        let printed = limited::output(Command::new(&path).arg("--version"), VERSION_LIMIT)
            .map_err(|error| {
                format!(
                    "{} --version {error}: install Nsight Compute anew",
                    path.display()
                )
            })?;
        let text = String::from_utf8_lossy(&printed);
        let Some(version) = version_in(&text) else {
            let first = text.lines().next().unwrap_or("nothing").to_owned();
            return Err(format!(
                "{} is no ncu: it printed '{first}' for --version",
                path.display()
            ));
        };
        if numbers(&version) < Some(OLDEST) {
            let (year, minor) = OLDEST;
            return Err(format!(
                "{} is ncu {version}, which is too old: the lab reads reports of {year}.{minor} and later. Install a newer Nsight \
                 Compute, or name one with LAB_NCU",
                path.display()
            ));
        }
        Ok(Ncu { path, version })
    }

    /// The command line that comes before that of the profiled program. Only kernels with these
    /// names are profiled; all but the lab's own if there are none. The report is written to
    /// `report`, which has ncu's ending, and ncu's messages to `log`.
    pub fn command(
        &self,
        counters: &Counters,
        kernels: &[String],
        report: &Path,
        log: &Path,
    ) -> Vec<OsString> {
        let mut command: Vec<OsString> = vec![self.path.clone().into()];
        let mut add = |words: &[&str]| command.extend(words.iter().map(OsString::from));
        add(&[
            "--target-processes",
            "all",
            "--clock-control",
            "none",
            "--kernel-name-base",
            "mangled",
        ]);
        add(&["--kernel-name", &format!("regex:{}", names(kernels))]);
        match counters {
            Counters::Set(ProfileSet::Quick) => add(&["--metrics", &metrics::quick().join(",")]),
            Counters::Set(ProfileSet::Full) => add(&["--set", "full", "--import-source", "yes"]),
            Counters::Set(ProfileSet::Source) => {
                add(&["--section", "SourceCounters", "--import-source", "yes"]);
                add(&["--metrics", &metrics::quick().join(",")]);
            }
            Counters::Duration => add(&["--metrics", metrics::DURATION]),
        }
        add(&["--force-overwrite", "--export"]);
        command.push(report.with_extension("").into());
        command.push("--log-file".into());
        command.push(log.into());
        command
    }

    /// A page of a report, as CSV in base units. The error says what is wrong with the report.
    pub fn page(&self, report: &Path, page: Page) -> Result<Vec<u8>, String> {
        let as_csv = ["--csv", "--print-units", "base"].as_slice();
        self.print(report, page, &[as_csv, page.options()].concat())
    }

    /// The page details as text for a person.
    pub fn text(&self, report: &Path) -> Result<Vec<u8>, String> {
        self.print(report, Page::Details, &[])
    }

    fn print(&self, report: &Path, page: Page, options: &[&str]) -> Result<Vec<u8>, String> {
        let (program, name) = (self.path.display(), page.name());
        let mut command = Command::new(&self.path);
        command.arg("--import").arg(report);
        command.args(["--page", name]).args(options);
        limited::output(&mut command, PAGE_LIMIT)
            .map_err(|error| format!("{program} prints no page {name} of its report: it {error}"))
    }
}

/// What ncu reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    Set(ProfileSet),
    /// Only how long the launch takes.
    Duration,
}

/// A regular expression for exactly these names. The lab launches kernels of its own, all named
/// `lab_`.
fn names(kernels: &[String]) -> String {
    if kernels.is_empty() {
        return "^(?!lab_).*$".into();
    }
    let escaped = kernels
        .iter()
        .map(|name| {
            name.chars()
                .flat_map(|c| {
                    (c == '$' || c == '.')
                        .then_some('\\')
                        .into_iter()
                        .chain([c])
                })
                .collect::<String>()
        })
        .join("|");
    format!("^({escaped})$")
}

/// The version in what `ncu --version` prints, as in
/// `Version 2025.3.1.0 (build 36398880) (public-release)`.
fn version_in(text: &str) -> Option<String> {
    let rest = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Version "))?;
    let version = rest.split_whitespace().next()?;
    numbers(version).map(|_| version.to_owned())
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_version_is_the_one_that_ncu_prints() {
        let printed = "NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2025 NVIDIA Corporation\nVersion \
                       2025.3.1.0 (build 36398880) (public-release)\n";
        assert_eq!(version_in(printed).as_deref(), Some("2025.3.1.0"));
        assert_eq!(version_in("Version soon"), None);
        assert!(numbers("2022.4.1") < Some(OLDEST) && numbers("2023.1") >= Some(OLDEST));
    }

    #[test]
    fn a_program_that_is_no_ncu_is_named() {
        let error = Ncu::at("/bin/echo".into()).unwrap_err();
        assert!(error.contains("/bin/echo"), "{error}");
        assert!(
            Ncu::at("/no/such/ncu".into())
                .unwrap_err()
                .contains("cannot be started")
        );
    }

    #[test]
    fn only_the_candidates_kernels_are_profiled() {
        assert_eq!(names(&["a$1".into(), "b".into()]), "^(a\\$1|b)$");
        let ncu = Ncu {
            path: "/n/ncu".into(),
            version: String::new(),
        };
        let counters = Counters::Set(ProfileSet::Full);
        let line = ncu.command(
            &counters,
            &["toy".into()],
            Path::new("/f/r.ncu-rep"),
            Path::new("/f/log"),
        );
        let line: Vec<_> = line.iter().map(|word| word.to_str().unwrap()).collect();
        let line = line.join(" ");
        assert!(
            line.contains("--kernel-name regex:^(toy)$") && line.contains("--clock-control none"),
            "{line}"
        );
        assert!(line.contains("--export /f/r --log-file /f/log"), "{line}");
    }
}
