//! The instructions of a function by kind.

use super::disassembly::{Instruction, opcode};
use lab_protocol::text::is_among;
use std::collections::BTreeMap;

/// Opcodes and their kinds. An opcode that is not here is of the kind `other`.
const KINDS: [(&str, &str); 22] = [
    ("fma", "FFMA FFMA2 HFMA2 DFMA"),
    (
        "float add, multiply",
        "FADD FADD2 FMUL FMUL2 HADD2 HMUL2 DADD DMUL FMNMX HMNMX2 FSEL",
    ),
    (
        "tensor",
        "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA BGMMA QGMMA UTCHMMA UTCQMMA UTCIMMA",
    ),
    ("load global", "LDG LD"),
    ("store global", "STG ST"),
    ("load shared", "LDS LDSM"),
    ("store shared", "STS STSM"),
    ("load local", "LDL"),
    ("store local", "STL"),
    ("load constant", "LDC LDCU ULDC"),
    (
        "copy asynchronous",
        "LDGSTS LDGDEPBAR DEPBAR UTMALDG UTMASTG UBLKCP UBLKPF UTMACMDFLUSH",
    ),
    ("atomic", "ATOM ATOMG ATOMS RED REDG"),
    ("special function", "MUFU FCHK"),
    ("conversion", "F2F F2I I2F I2FP F2FP F2IP FRND I2I"),
    (
        "compare",
        "ISETP FSETP HSETP2 DSETP PLOP3 UISETP VIMNMX VIMNMX3 UPLOP3",
    ),
    (
        "integer",
        "IMAD IADD IADD3 VIADD LEA IMUL UIADD3 UIMAD ULEA IABS POPC FLO UIADD",
    ),
    (
        "logic, shift",
        "LOP3 SHF SHL SHR ULOP3 USHF PRMT UPRMT BMSK SGXT BREV",
    ),
    ("move", "MOV UMOV SEL USEL CS2R S2R S2UR R2UR R2P P2R"),
    ("warp exchange", "SHFL VOTE VOTEU MATCH REDUX ELECT"),
    (
        "barrier",
        "BAR MEMBAR ERRBAR CGAERRBAR SYNCS WARPSYNC UCGABAR_ARV UCGABAR_WAIT CCTL FENCE",
    ),
    (
        "branch",
        "BRA BRX BSSY BSYNC BREAK CALL RET EXIT JMP YIELD BMOV",
    ),
    ("nop", "NOP"),
];

/// Returns how many instructions there are of each kind, the most frequent first.
pub fn of(instructions: &[Instruction]) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for instruction in instructions {
        let (name, whole) = opcode(&instruction.text);
        // A multiply-add unit moves registers, too.
        let kind = if whole.starts_with("IMAD.MOV") {
            "move"
        } else {
            KINDS
                .iter()
                .find(|(_, names)| is_among(name, names))
                .map_or("other", |(kind, _)| kind)
        };
        *counts.entry(kind).or_default() += 1;
    }
    let mut all: Vec<(String, u64)> = counts
        .into_iter()
        .map(|(kind, count)| (kind.to_owned(), count))
        .collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all
}

#[cfg(test)]
mod tests {
    use super::super::disassembly::{
        read,
        tests::{NVDISASM, RECORDED},
    };
    use super::*;

    #[test]
    fn every_instruction_of_a_recorded_kernel_is_of_a_known_kind() {
        let mix = of(&read(RECORDED, "rmsnorm_f32"));
        assert_eq!(mix.iter().map(|(_, count)| count).sum::<u64>(), 568);
        assert!(mix.iter().all(|(kind, _)| kind != "other"), "{mix:?}");
    }

    #[test]
    fn instructions_are_counted_by_kind() {
        let mix = of(&read(NVDISASM, "toy"));
        let mix: Vec<(&str, u64)> = mix
            .iter()
            .map(|(kind, count)| (kind.as_str(), *count))
            .collect();
        assert_eq!(
            mix,
            [("branch", 4), ("fma", 1), ("load global", 1), ("move", 1)]
        );
    }

    #[test]
    fn no_opcode_has_two_kinds() {
        let mut all: Vec<&str> = KINDS
            .iter()
            .flat_map(|(_, names)| names.split_whitespace())
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
