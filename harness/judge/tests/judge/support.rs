//! Running the judge on a problem folder made for the test.

#[path = "../../../device/tests/support/headers.rs"]
mod headers;
#[path = "../../../device/tests/support/host_header.rs"]
pub mod host_header;

use lab_judge::judge::judge;
use lab_judge::process::private_folder::PrivateFolder;
use lab_protocol::Exit;
use lab_protocol::JudgeRequest;
use lab_protocol::Program;
use lab_protocol::Target;
use lab_protocol::report::Report;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

/// A process of `tests/judge/children.rs`. On a GPU host, which did not build it, the program is beside
/// the test.
pub fn child(role: &str) -> Program {
    let built = Path::new(env!("CARGO_BIN_EXE_judge-children"));
    let path = match built.exists() {
        true => built.to_owned(),
        false => std::env::current_exe()
            .unwrap()
            .with_file_name("judge-children"),
    };
    Program {
        path,
        args: vec![role.into()],
    }
}

/// The log of a run, and its exit code.
pub struct Judged {
    pub exit: Exit,
    pub log: String,
    pub report: Report,
}

impl Judged {
    /// The value of a line. Panics with the whole log if the line is missing.
    #[track_caller]
    pub fn value(&self, key: &str) -> &str {
        self.report
            .value(key)
            .unwrap_or_else(|| panic!("no {key}: in\n{}", self.log))
    }

    #[track_caller]
    pub fn expect(&self, exit: Exit) -> &Self {
        assert_eq!(self.exit, exit, "{}", self.log);
        self
    }

    /// Checks that a line contains these words.
    #[track_caller]
    pub fn expect_in(&self, key: &str, words: &str) -> &Self {
        assert!(
            self.value(key).contains(words),
            "{key} without '{words}' in\n{}",
            self.log
        );
        self
    }

    /// Checks that no measure is reported beside a failure.
    #[track_caller]
    pub fn expect_no_measure(&self) -> &Self {
        for key in ["throughput_sps", "kernel_us"] {
            // Measures that were written before the failure are taken back.
            assert!(
                self.report.value(key).is_none_or(|v| v == "nan"),
                "{key} in\n{}",
                self.log
            );
        }
        self
    }
}

/// A problem folder with these files.
pub struct Folder {
    pub dir: tempfile::TempDir,
}

impl Folder {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        Folder { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Options for the cpu device, with the tests' own children and cache.
    pub fn options(&self) -> JudgeRequest {
        options(self.path())
    }

    pub fn judge(&self) -> Judged {
        run(self.options())
    }
}

/// An executable file. Another process writes it: a child that another test starts in that moment
/// would have the file open for writing until it runs its own program, and Linux runs no such file.
pub fn write_script(path: &Path, text: &str) {
    let write = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let mut shell = Command::new("/bin/sh");
    assert!(
        shell
            .args(["-c", write])
            .arg(path)
            .arg(text)
            .status()
            .unwrap()
            .success()
    );
}

pub fn options(folder: &Path) -> JudgeRequest {
    JudgeRequest {
        device: Target::Cpu,
        cache_dir: Some(cache()),
        // The tests also run without Landlock.
        trusted: true,
        shown_as: Some("kernel.cu".into()),
        seed: Some(1),
        // Far longer than any kernel here takes, even on a busy machine.
        time_limit: Duration::from_secs(300),
        compiler: child("compiler"),
        worker: child("worker"),
        ..JudgeRequest::new(folder)
    }
}

/// One cache for all tests of this run. It begins with the shared headers and nothing else: a test
/// never sees what an earlier build of the judge computed. The next run removes it.
pub fn cache() -> PathBuf {
    static CACHE: LazyLock<PrivateFolder> = LazyLock::new(|| {
        let cache = PrivateFolder::new_in(&headers::beside().join("judge")).unwrap();
        headers::share_with(cache.path());
        cache
    });
    CACHE.path().to_owned()
}

pub fn run(options: JudgeRequest) -> Judged {
    let log = Log::default();
    let exit = judge(options, log.clone());
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    Judged {
        exit,
        report: Report::read(&log),
        log,
    }
}

#[derive(Clone, Default)]
pub struct Log(pub Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
