//! The machine code of a built image, from nvdisasm or cuobjdump of the CUDA toolkit.

use crate::process::limited::{self, Limit};
use crate::toolkit;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What to do if neither program is here.
pub const REMEDY: &str = "instruction mix and loops: nvdisasm and cuobjdump are not here. They come with the CUDA toolkit (Debian, \
                          Ubuntu: apt install cuda-nvdisasm-13-0 cuda-cuobjdump-13-0, or the number of your toolkit)";

/// How long a program may take for an image, and how much it may print.
const LIMIT: Limit = Limit {
    time: Duration::from_secs(60),
    bytes: 64 << 20,
};

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Within the function, in bytes.
    pub address: u64,
    pub text: String,
    /// The line of source that it comes from, if the image says so.
    pub line: Option<u32>,
    /// The address that it branches to, if it is a branch to a fixed address.
    pub target: Option<u64>,
}

/// Disassembles a function of an image. The error says what is missing.
pub fn of_function(image: &Path, function: &str) -> Result<Vec<Instruction>, String> {
    let Some((program, options)) = program() else {
        return Err(REMEDY.into());
    };
    let name = program.display().to_string();
    let printed = limited::output(Command::new(&program).args(options).arg(image), LIMIT)
        .map_err(|error| format!("instruction mix and loops: {name} {error}"))?;
    let found = read(&String::from_utf8_lossy(&printed), function);
    if found.is_empty() {
        return Err(format!(
            "instruction mix and loops: {name} prints no function {function}"
        ));
    }
    Ok(found)
}

/// The better of the two programs: nvdisasm names lines of source.
fn program() -> Option<(PathBuf, &'static [&'static str])> {
    let find = |name: &str| toolkit::find(name, &["bin"], Vec::new());
    find("nvdisasm")
        .map(|path| (path, ["-g", "-c"].as_slice()))
        .or_else(|| find("cuobjdump").map(|path| (path, ["-sass"].as_slice())))
}

/// Reads the instructions of a function from what nvdisasm or cuobjdump prints.
pub fn read(text: &str, function: &str) -> Vec<Instruction> {
    let mut found: Vec<Instruction> = Vec::new();
    let mut labels: Vec<(&str, u64)> = Vec::new();
    let mut branches: Vec<(usize, &str)> = Vec::new();
    let (mut inside, mut line, mut pending) = (false, None, Vec::new());
    for text in text.lines().map(str::trim) {
        if let Some(name) = section(text) {
            inside = name == function;
            line = None;
            continue;
        }
        if !inside {
            continue;
        }
        if let Some(place) = text.strip_prefix("//## File ") {
            line = line_of(place);
        } else if let Some(label) = text
            .strip_suffix(':')
            .filter(|label| label.starts_with(".L"))
        {
            pending.push(label);
        } else if let Some((address, instruction)) = instruction(text) {
            labels.extend(pending.drain(..).map(|label| (label, address)));
            let target = branch(instruction);
            if let Some(Target::Label(label)) = target {
                branches.push((found.len(), label));
            }
            let target = target.and_then(|target| match target {
                Target::Address(address) => Some(address),
                Target::Label(_) => None,
            });
            found.push(Instruction {
                address,
                text: instruction.to_owned(),
                line,
                target,
            });
        }
    }
    for (at, label) in branches {
        found[at].target = labels
            .iter()
            .find(|(known, _)| *known == label)
            .map(|(_, address)| *address);
    }
    found
}

/// The function that begins on a line: `.section .text.NAME,"ax",@progbits` or `Function : NAME`.
fn section(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix(".section") {
        return Some(
            rest.trim()
                .strip_prefix(".text.")
                .and_then(|rest| rest.split(',').next())
                .unwrap_or(""),
        );
    }
    line.strip_prefix("Function :").map(str::trim)
}

/// The number in `"/x/kernel.cu", line 443 inlined at …`.
fn line_of(place: &str) -> Option<u32> {
    let digits = place.split(", line ").nth(1)?;
    digits
        .split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

/// The address and the text in `/*0010*/  LDC R1, c[0x0][0x28] ;  /* 0x… */`.
fn instruction(line: &str) -> Option<(u64, &str)> {
    let (address, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let text = rest
        .split("/*")
        .next()?
        .trim()
        .trim_end_matches(';')
        .trim_end();
    (!text.is_empty()).then_some((address, text))
}

enum Target<'a> {
    Label(&'a str),
    Address(u64),
}

/// Where a branch goes: `` BRA `(.L_x_3) `` or `BRA 0x100`.
fn branch(instruction: &str) -> Option<Target<'_>> {
    let at = instruction
        .split_whitespace()
        .position(|word| word == "BRA" || word.starts_with("BRA."))?;
    let last = instruction.split_whitespace().skip(at + 1).last()?;
    if let Some(label) = last
        .strip_prefix("`(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        return Some(Target::Label(label));
    }
    u64::from_str_radix(last.strip_prefix("0x")?, 16)
        .ok()
        .map(Target::Address)
}

/// The instruction's name without what qualifies it, as in `LDG`, and the whole word, as in
/// `LDG.E.128`.
pub fn opcode(instruction: &str) -> (&str, &str) {
    let mut words = instruction.split_whitespace();
    let whole = words.find(|word| !word.starts_with('@')).unwrap_or("");
    (whole.split('.').next().unwrap_or(whole), whole)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub const NVDISASM: &str = "\t.section\t.text.lab_launch_toy,\"ax\",@progbits\n\
        \x20       /*0000*/                   EXIT ;\n\
        \t.section\t.text.toy,\"ax\",@progbits\n.text.toy:\n\
        \t//## File \"/t/kernel.cu\", line 7\n\
        \x20       /*0000*/                   MOV R1, R2 ;\n.L_x_3:\n\
        \t//## File \"/t/lab.h\", line 97 inlined at \"/t/kernel.cu\", line 9\n\
        \x20       /*0010*/                   LDG.E.128 R4, desc[UR4][R2.64] ;\n.L_x_4:\n\
        \x20       /*0020*/                   FFMA R1, R2, R3, R4 ;\n\
        \x20       /*0030*/              @!P1 BRA `(.L_x_4) ;\n\
        \x20       /*0040*/               @P0 BRA `(.L_x_3) ;\n\
        \x20       /*0050*/                   EXIT ;\n.L_x_0:\n\
        \x20       /*0060*/                   BRA `(.L_x_0);\n";

    /// What nvdisasm printed of a kernel on a machine with an H200.
    pub const RECORDED: &str = include_str!("../../tests/judge/ncu/rmsnorm.nvdisasm");

    #[test]
    fn labels_and_addresses_are_targets_of_branches() {
        let toy = read(NVDISASM, "toy");
        let targets: Vec<_> = toy
            .iter()
            .filter_map(|i| Some((i.address, i.target?)))
            .collect();
        assert_eq!(targets, [(0x30, 0x20), (0x40, 0x10), (0x60, 0x60)]);
        assert_eq!((toy[0].line, toy[1].line), (Some(7), Some(97)));
        let cuobjdump = "\t\tFunction : toy\n\t.headerflags\t@\"x\"\n        /*0000*/  @!P1 BRA 0x100 ;   /* 0xfff */\n   /* 0x000fe20000000f00 */\n";
        let read = read(cuobjdump, "toy");
        assert_eq!(
            (read.len(), read[0].target, read[0].text.as_str()),
            (1, Some(0x100), "@!P1 BRA 0x100")
        );
    }

    #[test]
    fn the_opcode_comes_after_the_predicate() {
        assert_eq!(opcode("@!P0 LDG.E.128 R4, [R2]"), ("LDG", "LDG.E.128"));
        assert_eq!(opcode("EXIT"), ("EXIT", "EXIT"));
    }
}
