//! The processes that the tests of this crate start: the judge's compiler and worker, which `lab`
//! itself is for a user, and a judge that a test ends.
//!
//! ```text
//! judge-children compiler | worker
//! judge-children judge REQUEST        a JudgeRequest as JSON
//! ```

use lab_judge::{compiler, judge, worker};
use std::io::BufReader;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["compiler"] => compiler::main(),
        ["worker"] => worker::main(),
        ["judge", request] => match serde_json::from_str(request) {
            Ok(request) => {
                let exit = judge::main(request, BufReader::new(std::io::stdin()));
                ExitCode::from(u8::from(exit))
            }
            Err(_) => ExitCode::from(u8::from(lab_protocol::Exit::Usage)),
        },
        _ => ExitCode::from(u8::from(lab_protocol::Exit::Usage)),
    }
}
