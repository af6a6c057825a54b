//! Whether this machine can confine kernels, and has what they need: runs ask before they start.

use crate::ask_python::Question;
use lab_device::sandbox;
use lab_project::python::{self, Interpreter};
use lab_project::{Project, trust};
use lab_protocol::Target;
use lab_run::Reason;
use lab_runner::spec::RunSpec;
use std::time::Duration;

/// A run whose kernel is confined where this machine can. A refusal names what Python lacks too.
pub fn spec(reason: Reason, device: Option<Target>) -> RunSpec {
    RunSpec {
        device,
        confinement: missing,
        lacks: python_lacks,
        ..RunSpec::new(reason)
    }
}

/// Prints whether there is NumPy.
const HAS_NUMPY: &str = "import importlib.util as util\nprint('lab-numpy: ' + str(util.find_spec('numpy') is not None))";

/// What the interpreter of a kernel in Python lacks in any case, and how to install it. `None` also if
/// it cannot be asked: a program of a folder that is not trusted is not started, and a run says the rest.
fn python_lacks(project: &Project) -> Option<String> {
    let interpreter = Interpreter::of(project);
    let is_startable = !interpreter.is_inside || trust::is_granted(project);
    if project.external() || python::sources(project).is_empty() || !is_startable {
        return None;
    }
    let question = Question {
        program: HAS_NUMPY,
        mark: "lab-numpy: ",
        limit: Duration::from_secs(20),
        work: "look for NumPy",
    };
    let nothing: [&str; 0] = [];
    let answer = question.ask(&interpreter.program, nothing).ok()?;
    let program = interpreter.program.display();
    (answer == "False").then(|| {
        format!("every kernel in Python needs NumPy: `{program} -m pip install numpy ml_dtypes`")
    })
}

/// Why kernels cannot be confined on a device. `None` where they can, and for a GPU, where a kernel
/// makes no system calls.
pub fn missing(target: Target) -> Option<String> {
    let support = sandbox::support();
    // Resolving a device may load its driver.
    support
        .missing()
        .filter(|_| lab_device::resolve(target) == Target::Cpu)
        .map(str::to_owned)
}
