//! The parts of lab.h that stand in an export.

use super::source::mentions;
use lab_device::LAB_H;

/// Begins a section of helpers.
const SECTION: &str = "// ---- ";
/// Where the structs begin.
const FIRST: &str = "struct LabDevice {";
/// Where the launch statements' macros begin, which an export has in another form.
const MACROS: &str = "// The names go through a second macro";

/// The structs of launch statements.
pub fn structs() -> String {
    let head = LAB_H.split(SECTION).next().unwrap_or(LAB_H);
    let from = head.find(FIRST).unwrap_or(0);
    let end = head.find(MACROS).unwrap_or(head.len());
    for_gpu(head[from..end].trim_end())
}

/// The sections of helpers of which `sources` use a function.
pub fn helpers(sources: &[&str]) -> String {
    let sections = LAB_H
        .split(SECTION)
        .skip(1)
        .map(|section| format!("{SECTION}{section}"));
    let used = sections.filter(|section| {
        let names = functions(section);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        sources.iter().any(|source| mentions(source, &names))
    });
    used.map(|section| for_gpu(section.trim_end()) + "\n")
        .collect()
}

/// The names of the functions that a section defines.
fn functions(section: &str) -> Vec<String> {
    let definitions = section
        .lines()
        .filter(|line| line.starts_with("__device__ inline "));
    let name = |line: &str| {
        let before = line.split('(').next()?;
        Some(
            before
                .rsplit(' ')
                .next()?
                .trim_start_matches('*')
                .to_owned(),
        )
    };
    definitions.filter_map(name).collect()
}

/// The text without what is for the cpu device.
fn for_gpu(text: &str) -> String {
    let mut out = String::new();
    // For each `#if`: whether it asks for LAB_CPU, and whether its present branch is kept.
    let mut open: Vec<(bool, bool)> = Vec::new();
    for line in text.lines() {
        let directive = line.trim();
        let asks = |name: &str| {
            directive
                .strip_prefix(name)
                .is_some_and(|rest| rest.trim() == "LAB_CPU")
        };
        if asks("#ifdef") {
            open.push((true, false));
            continue;
        } else if asks("#ifndef") {
            open.push((true, true));
            continue;
        } else if directive.starts_with("#if") {
            open.push((false, true));
        } else if let Some((true, kept)) = open.last_mut() {
            match directive {
                "#else" => {
                    *kept = !*kept;
                    continue;
                }
                "#endif" => {
                    open.pop();
                    continue;
                }
                _ => {}
            }
        }
        let ends = directive == "#endif";
        if open.iter().all(|(_, kept)| *kept) {
            out.push_str(line);
            out.push('\n');
        }
        if ends {
            open.pop();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structs_are_there_without_the_cpu_device() {
        let text = structs();
        for name in [
            "struct LabDevice",
            "struct LabShape",
            "struct LabLaunches",
            "struct alignas(128) LabTensorMap",
        ] {
            assert!(text.contains(name), "{name} is missing:\n{text}");
        }
        // A message names the macro too.
        let directives: Vec<&str> = text
            .lines()
            .filter(|line| line.trim_start().starts_with('#'))
            .collect();
        for wrong in ["def LAB_CPU", "#include", "define LAB_LAUNCH"] {
            assert!(
                !directives.iter().any(|line| line.contains(wrong)),
                "{directives:?}"
            );
        }
        let marks = ["#if", "#endif"].map(|word| {
            directives
                .iter()
                .filter(|line| line.trim_start().starts_with(word))
                .count()
        });
        assert_eq!(marks[0], marks[1]);
    }

    #[test]
    fn only_the_helpers_that_a_source_uses_are_there() {
        assert_eq!(helpers(&["// lab_warp_sum\nint lab_warp_sums;"]), "");
        let sums = helpers(&["x = lab_warp_sum(x);"]);
        assert!(
            sums.contains("__shfl_xor_sync") && !sums.contains("lab_grid_barrier"),
            "{sums}"
        );
        assert!(
            !sums.contains("LAB_CPU") && !sums.contains("lab_cpu_warp_sum"),
            "{sums}"
        );
        let both = helpers(&["lab_grid_barrier(p);", "lab_pin(x);"]);
        assert!(both.contains("lab_grid_barrier") && both.contains("lab_pin"));
        for name in [
            "lab_poll",
            "lab_store_tagged",
            "lab_load_marked",
            "lab_load_counted",
        ] {
            assert!(
                helpers(&[&format!("{name}(p);")]).contains("lab_grid_barrier"),
                "{name}"
            );
        }
    }
}
