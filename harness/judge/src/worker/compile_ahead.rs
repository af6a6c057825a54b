//! Has the Python on standby compile the Triton kernels of a candidate for all workloads at the
//! same time, while the candidate's worker checks the first ones. The worker then finds them in
//! Triton's cache folder. Without it the worker compiles one after the other.
//!
//! The module `lab_harness.compile_ahead` does the work. It only saves time, and no verdict depends
//! on it.

use super::LaunchParameter;
use super::python::Interpreter;
use crate::process::forked::Forked;
use serde::Serialize;
use serde_json::json;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

/// A call of a function of a kernel in Python, without memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Call {
    pub entry: String,
    pub parameters: Vec<CallParameter>,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallParameter {
    #[serde(flatten)]
    pub parameter: LaunchParameter,
    /// The bytes of a number; `None` for a tensor.
    pub value: Option<Vec<u8>>,
}

/// Most calls of one request. The parent refuses a message of more than 64 KiB, as many calls with
/// very many parameters make: then nothing is compiled ahead.
const MOST_CALLS: usize = 64;

/// What a source names if executing it takes long or needs a device: in several processes it would
/// take longer.
const TAKES_LONG: [&str; 3] = ["load_inline", "cpp_extension", "torch.compile"];

/// A process that compiles ahead. Dropping it ends the process and what it has started.
pub struct CompileAhead {
    process: Forked,
}

impl Drop for CompileAhead {
    fn drop(&mut self) {
        self.process.kill();
        // What follows is timed, and nothing of it may run any more.
        let _ = self.process.wait();
    }
}

impl CompileAhead {
    /// Starts to compile `source` for these calls on a device of this architecture, as in `sm_90`.
    /// `None` where there is nothing to gain (no Python on standby, no Triton in the source, one
    /// call), and where the parent cannot.
    pub fn start(
        interpreter: &Interpreter,
        source: &Path,
        arch: &str,
        calls: &[Call],
    ) -> Option<CompileAhead> {
        let socket = interpreter.standby.as_ref()?;
        let digits: String = arch
            .strip_prefix("sm_")?
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        let sm: u32 = digits.parse().ok()?;
        let text = std::fs::read_to_string(source).ok()?;
        if calls.len() < 2 || !is_worth_it(&text) {
            return None;
        }
        let calls = &calls[..calls.len().min(MOST_CALLS)];
        let request = json!({ "run": "compile", "path": source, "sm": sm, "calls": calls });
        // What the source prints there, its worker prints too.
        let null = File::options()
            .read(true)
            .write(true)
            .open("/dev/null")
            .ok()?;
        let python_path = lab_python::module_path(&interpreter.modules);
        let process = Forked::ask(socket, request, &python_path, [null.as_fd(); 3]).ok()?;
        Some(CompileAhead { process })
    }
}

fn is_worth_it(source: &str) -> bool {
    source.contains("triton") && !TAKES_LONG.iter().any(|name| source.contains(name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::dtype::Dtype;

    #[test]
    fn a_call_is_written_as_the_package_reads_it() {
        let tensor = LaunchParameter {
            strides: None,
            is_input: false,
            name: "x".into(),
            dtype: Dtype::F16,
            shape: Some(vec![3, 257]),
        };
        let number = LaunchParameter {
            strides: None,
            is_input: false,
            name: "n".into(),
            dtype: Dtype::I32,
            shape: None,
        };
        let parameters = vec![
            CallParameter {
                parameter: tensor,
                value: None,
            },
            CallParameter {
                parameter: number,
                value: Some(vec![1, 1, 0, 0]),
            },
        ];
        let written = serde_json::to_value(Call {
            entry: "f".into(),
            parameters,
        })
        .unwrap();
        let expected = json!({ "entry": "f", "parameters": [
            { "name": "x", "dtype": "f16", "shape": [3, 257], "value": null },
            { "name": "n", "dtype": "i32", "value": [1, 1, 0, 0] },
        ] });
        assert_eq!(written, expected);
    }

    #[test]
    fn only_a_source_that_triton_compiles_soon_is_compiled_ahead() {
        assert!(is_worth_it("import triton\n@triton.jit\ndef f(): ..."));
        assert!(!is_worth_it("import numpy\n"));
        assert!(!is_worth_it(
            "import triton\nfrom torch.utils.cpp_extension import load\n"
        ));
    }
}
