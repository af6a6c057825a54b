//! The project that the screen is opened for.

use crate::text::{printable, problem};
use lab_project::Project;
use lab_project::config::{AutoConfig, Config, Goal};
use lab_project::objective::Objective;
use lab_protocol::Language;
use lab_run::experiment::Experiment;
use lab_run::verdict::Change;

/// What the screen knows of its project.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The folder of the kernel, with the file's name where it is not the usual one.
    pub name: String,
    /// Path of the kernel's file, relative to the repository.
    pub kernel: String,
    /// The result line that is optimised, such as `throughput_sps`.
    pub objective: Objective,
    pub goal: Goal,
    /// The command of an external harness, if lab.toml names one.
    pub external: Option<String>,
    /// What lab.toml says of decisions by rule.
    pub auto: AutoConfig,
}

impl Setup {
    pub fn of(project: &Project) -> Self {
        Setup {
            name: printable(&match problem(&project.kernel_name).rsplit_once('/') {
                Some((_, file)) => format!("{}/{file}", project.name()),
                None => project.name(),
            }),
            kernel: project.kernel_name.clone(),
            objective: project.config.objective.clone(),
            goal: project.config.goal,
            external: project.config.harness.as_ref().map(ToString::to_string),
            auto: project.config.auto.clone(),
        }
    }

    /// The kernel's file without its folder, as sentences name it.
    pub fn file(&self) -> String {
        printable(self.kernel.rsplit('/').next().unwrap_or(&self.kernel))
    }

    /// The kernel is Python, which the tools for CUDA C++ cannot read.
    pub fn is_python(&self) -> bool {
        Language::of(&self.kernel) == Language::Python
    }

    /// The experiment is about this kernel.
    pub fn is_about(&self, experiment: &Experiment) -> bool {
        experiment.is_about(&self.kernel)
    }

    /// A change in words, with growth as the better direction.
    pub fn in_words(&self, change: &Change) -> String {
        change.in_words(&self.objective, self.goal)
    }

    /// The part of the configuration that a change against the incumbent depends on.
    pub fn config(&self) -> Config {
        Config {
            objective: self.objective.clone(),
            goal: self.goal,
            ..Config::default()
        }
    }
}
