//! problem.toml, checked as a run checks it: a command that reads it says what is wrong in the same
//! words.

use lab_judge::problem;
use lab_project::Project;
use lab_protocol::JudgeRequest;

/// What is wrong with the problem.toml of a project, as a run says it. `None` if nothing is, and
/// where the user's own harness judges.
pub fn mistake(project: &Project) -> Option<String> {
    if project.external() {
        return None;
    }
    let stop = problem::open(&project.problem_dir).err()?;
    let shown_as = Some(project.kernel_name.clone());
    let options = JudgeRequest {
        shown_as,
        ..JudgeRequest::new(&project.problem_dir)
    };
    Some(options.as_shown(&stop.to_string()))
}
