//! The kernel that a solution becomes.

use super::definition::Definition;
use super::layout::Layout;
use super::solution::Solution;
use crate::cuda::{self, Absent, Header, Published, Wanted};
use crate::problem::{NewFile, Problem};
use crate::python::{self, Wrapper};

impl Definition {
    /// kernel.py for a solution in Python: its entry's file, and a function that calls the entry.
    pub fn python_kernel(
        &self,
        solution: &Solution,
        all: &[String],
        returned: &[(String, String)],
    ) -> Result<Problem, String> {
        let (path, text, function) = solution.entry()?;
        let entry = python::entry(&self.name, &[&self.reference, text]);
        let (arguments, returned) = match solution.returns_outputs() {
            true => (&all[..all.len() - returned.len()], returned),
            false => (all, &[][..]),
        };
        let call = format!("{function}({})", arguments.join(", "));
        let wrapper = Wrapper {
            entry: &entry,
            parameters: all,
            call: &call,
            returned,
        };
        let others = solution.others()?;
        let mut notes = Vec::new();
        if text.contains("from .") || others.iter().any(|(_, text)| text.contains("from .")) {
            notes.push(format!(
                "{} imports from its package (`from .`), and kernel.py is a module of no package: write such imports without the point",
                solution.name
            ));
        }
        let title = format!("{} of the solution {}.", path, solution.title());
        let kernel = python::file(&title, text, &wrapper.text());
        let mut files = vec![NewFile::new("kernel.py", kernel)];
        let others = others.into_iter();
        files.extend(others.map(|(path, text)| NewFile::new(path, text.to_owned())));
        Ok(Problem {
            entry,
            files,
            notes,
            lacks_reference: false,
        })
    }

    /// kernel.cu for a solution in CUDA C++: one of its `__global__` functions, without the host
    /// code around it.
    pub fn cuda_kernel<'d>(
        &'d self,
        solution: &Solution,
        function: Option<&str>,
        layout: &mut Layout<'d>,
    ) -> Result<Problem, String> {
        let (path, text, _) = solution.entry()?;
        let header = |wanted: &Wanted| {
            let by = wanted.by.unwrap_or(path);
            let beside = by.rsplit_once('/');
            let beside = beside.map(|(folder, _)| format!("{folder}/{}", wanted.name));
            let places = beside.into_iter().chain([wanted.name.to_owned()]);
            let mut found = places.filter_map(|name| {
                let text = solution.text(&name)?.to_owned();
                let is_guess = false;
                Some(Header {
                    name,
                    text,
                    is_guess,
                })
            });
            found.next().ok_or(Absent::Nowhere)
        };
        let published = Published::read(path, text, &header);
        let kernels: Vec<String> = published
            .kernels()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        let function = match (function, kernels.as_slice()) {
            (Some(function), _) => function,
            (None, [only]) => only,
            (None, []) => return Err(format!("its {path} has no `__global__` function")),
            (None, several) => {
                return Err(format!(
                    "its {path} has the kernels {}: name one with --entry. A result that takes several of them needs a list of launches, which you write",
                    several.join(", ")
                ));
            }
        };
        let failed =
            |why: String| format!("{function} of its {path} cannot become kernel.cu: {why}");
        let parameters = published
            .parameters(function)
            .map_err(|why| failed(why.to_string()))?;
        let renamed = layout.fit(self, &parameters).map_err(failed)?;
        let mut problem = published
            .problem(&[function.to_owned()], &self.name, path)
            .map_err(|why| failed(why.to_string()))?;
        let is_of_kernel =
            |note: &String| !note.starts_with("problem.toml") && !note.starts_with("reference.cu");
        problem.notes.retain(is_of_kernel);
        problem.files.retain(|file| file.name == "kernel.cu");
        for file in &mut problem.files {
            for (name, axis) in &renamed {
                file.text = cuda::with_dim(&file.text, name, axis);
            }
        }
        problem.lacks_reference = false;
        Ok(problem)
    }
}
