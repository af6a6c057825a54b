//! Takes the resource report of `--ptxas-options=-v` out of NVRTC's log.

use crate::api::Resources;

/// Splits a log into the resources and the text for the user: warnings, errors, and the remarks of
/// ptxas that have a code, such as the one on a serialised `wgmma`.
pub fn split(log: &str) -> (Resources, String) {
    let mut resources = Resources::default();
    let mut text = String::new();
    let mut of_statement = false;
    for line in log.lines() {
        if line.contains("Compiling entry function '") {
            of_statement = line.contains("function 'lab_launch");
        }
        if !of_statement {
            resources.add(line);
        }
        if !is_report(line) {
            text.push_str(line);
            text.push('\n');
        }
    }
    let text = text.trim_matches('\n');
    (
        resources,
        if text.is_empty() {
            String::new()
        } else {
            format!("{text}\n")
        },
    )
}

fn is_report(line: &str) -> bool {
    let info = line.starts_with("ptxas info") && !line.contains(": (C");
    info || line.starts_with("ptxas         .")
}

impl Resources {
    fn add(&mut self, line: &str) {
        if !is_report(line) {
            return;
        }
        if line.contains(": Used ") {
            raise(&mut self.registers, number_before(line, " registers"));
            // The report of a kernel without static shared memory does not mention it.
            raise(
                &mut self.shared_bytes,
                number_before(line, " bytes smem").or(Some(0)),
            );
        }
        let stores = number_before(line, " bytes spill stores");
        let loads = number_before(line, " bytes spill loads");
        raise(
            &mut self.spill_bytes,
            stores.zip(loads).map(|(stores, loads)| stores + loads),
        );
    }
}

fn raise(largest: &mut Option<u32>, value: Option<u32>) {
    *largest = (*largest).max(value);
}

/// Returns the number before `unit`.
fn number_before(line: &str, unit: &str) -> Option<u32> {
    let before = &line[..line.find(unit)?];
    before
        .rsplit(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As NVRTC 12.9 printed it.
    const LOG: &str = "\
kernels/a/kernel.cu(6): warning #177-D: variable \"unused\" was declared but never referenced
    int unused;
        ^

ptxas info    : 5674 bytes gmem
ptxas info    : Compiling entry function 'lab_launch_k' for 'sm_90'
ptxas info    : Function properties for lab_launch_k
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers
ptxas info    : Compile time = 6.658 ms
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
ptxas         .     512 bytes stack frame, 96 bytes spill stores, 112 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 512 bytes cumulative stack size, 1024 bytes smem
ptxas info    : Compile time = 4.161 ms
";

    #[test]
    fn the_largest_of_each_resource_is_taken_and_only_the_warning_is_left() {
        let (resources, text) = split(LOG);
        let expected = Resources {
            registers: Some(255),
            spill_bytes: Some(208),
            shared_bytes: Some(1024),
        };
        assert_eq!(resources, expected);
        assert_eq!(
            text,
            "kernels/a/kernel.cu(6): warning #177-D: variable \"unused\" was declared but never referenced\n    \
             int unused;\n        ^\n"
        );
    }

    #[test]
    fn what_a_launch_statement_uses_does_not_count() {
        let log = LOG.replace("Used 10 registers", "Used 256 registers");
        assert_eq!(split(&log).0.registers, Some(255));
        let log = LOG
            .replace("lab_launch_k", "lab_launches_k")
            .replace("Used 10 registers", "Used 256 registers");
        assert_eq!(split(&log).0.registers, Some(255));
    }

    #[test]
    fn a_remark_with_a_code_is_kept() {
        let log = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized\n";
        assert_eq!(split(log).1, log);
    }

    #[test]
    fn a_log_without_a_report_gives_no_resources() {
        assert_eq!(
            split("kernel.cu(3): error: expected a \";\"\n").0,
            Resources::default()
        );
        assert_eq!(split("").1, "");
    }
}
