//! Exports in the forms of kernel benchmarks: a solution of flashinfer-bench, a submission for a task
//! of GPU MODE.

use super::facts::Facts;
use super::files::Files;
use anyhow::{Context, Result, anyhow, ensure};
use lab_git::Repo;
use lab_import::described::Task;
use lab_import::flashinfer::{DEFINITION, Definition, Kernel};
use lab_project::{Project, SIZE_LIMIT};
use lab_source::imports::imports;
use lab_text::shell;
use std::path::Path;

/// The task of a problem that comes from one.
const TASK: &str = "task.yml";

/// The kernel that is exported.
pub struct Kept<'k> {
    pub project: &'k Project,
    pub files: &'k Files<'k>,
    pub facts: &'k Facts,
    /// A Python file: kernel.py, or an extension that holds kernel.cu.
    pub text: &'k str,
    pub is_extension: bool,
    /// Where the export is written.
    pub output: &'k Path,
}

impl Kept<'_> {
    /// The JSON of a solution, and the command that verifies and times it.
    pub fn solution(&self, repo: &Repo, problem_toml: &str) -> Result<(String, String)> {
        let problem: toml::Table = problem_toml.parse().context("problem.toml is not TOML")?;
        let entry = problem.get("entry").and_then(toml::Value::as_str);
        let entry = entry.context("problem.toml names no entry")?;
        let definition = self.source(
            DEFINITION,
            "a solution is for a definition of flashinfer-bench",
        )?;
        let definition =
            Definition::read(&definition).map_err(|why| anyhow!("{DEFINITION}: {why}"))?;
        if !self.is_extension {
            self.refuse_modules(&[])?;
        }
        let commit = self.facts.commit.as_deref().map(lab_git::short);
        let name = match commit {
            Some(commit) => format!("{}_{commit}", self.project.name()),
            None => self.project.name(),
        };
        let author = lab_git::author_name(repo).unwrap_or_else(|| "lab".to_owned());
        let text = definition.solution(&Kernel {
            name: &name,
            author: &author,
            description: &self.facts.lines.join(" "),
            entry,
            text: self.text,
            is_extension: self.is_extension,
            hardware: self.facts.device.as_deref().unwrap_or("cuda"),
        });
        let text =
            text.map_err(|why| anyhow!("no solution can be written for {DEFINITION}: {why}"))?;
        let command = format!(
            "flashinfer-bench run --local DATA_SET --definitions {} --solutions {}",
            shell::quote(&definition.name),
            shell::quote(&name)
        );
        Ok((text, command))
    }

    /// The submission, and the command that verifies and times it.
    pub fn submission(&self) -> Result<(String, String)> {
        let task = self.source(TASK, "a submission is for a task of GPU MODE")?;
        let task = Task::read(&task).map_err(|why| anyhow!("{TASK}: {why}"))?;
        let kernel = &self.project.kernel_name;
        ensure!(
            !self.is_extension,
            "{kernel} is CUDA C++, and a submission is a Python file with custom_kernel(data): `lab export --to torch` writes the \
             extension that custom_kernel can call"
        );
        ensure!(
            Task::is_submission(self.text),
            "{kernel} defines no custom_kernel(data), which GPU MODE calls: let the entry call one, as `lab init` writes it"
        );
        let known: Vec<&str> = task.modules().map(|(name, _)| name).collect();
        self.refuse_modules(&known)?;
        let head: String = self
            .facts
            .lines
            .iter()
            .map(|line| format!("# {line}\n"))
            .collect();
        let file = shell::quote(&self.output.to_string_lossy());
        Ok((
            format!("{head}\n{}", self.text),
            format!("popcorn-cli submit {file}"),
        ))
    }

    /// A file beside problem.toml that says what the problem comes from: in HEAD, else on disk.
    fn source(&self, name: &str, why: &str) -> Result<String> {
        let beside = Files::beside(self.project, name);
        if let Some(text) = self.files.text(&beside)? {
            return Ok(text);
        }
        let path = self.project.problem_dir.join(name);
        let bytes = self.project.files().read_resolved(&path, SIZE_LIMIT).ok();
        let bytes = bytes.with_context(|| {
            format!("{why}, and there is no {beside}: `lab init` writes it for a problem that comes from one")
        })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// An export is one file: a module beside the kernel would be missing, unless it is one of
    /// `known`.
    fn refuse_modules(&self, known: &[&str]) -> Result<()> {
        for import in imports(self.text.as_bytes()) {
            let parts = 1..=import.module.len();
            let modules = parts.map(|count| import.module[..count].join("/"));
            let files = modules
                .flat_map(|module| [format!("{module}.py"), format!("{module}/__init__.py")]);
            for path in files.filter(|file| !known.contains(&file.as_str())) {
                let beside = Files::beside(self.project, &path);
                ensure!(
                    self.files.text(&beside)?.is_none(),
                    "{beside} lies beside {}, and an export is one file: put its code into the kernel",
                    self.project.kernel_name
                );
            }
        }
        Ok(())
    }
}
