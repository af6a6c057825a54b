//! Measures how far correct variants of the WaveGRU kernel are from the reference: other orders of
//! summation, no fused multiply-add, exact exponential, division and tanh. The limits in
//! problem.toml are ten times the largest difference.
//!
//!     cargo run --release -p lab-judge --example wavegru_calibrate -- kernels/wavegru cuda [DRAWS [WORD …]]
//!
//! Each variant is judged DRAWS times (6), each time on other runs. With words, only the variants
//! whose names contain one of them are judged.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]

use lab_judge::judge::judge;
use lab_judge::{compiler, worker};
use lab_protocol::JudgeRequest;
use lab_protocol::report::Report;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

/// A variant: its name, and the replacements in kernel.cu.
type Variant = (&'static str, &'static [(&'static str, &'static str)]);

const EXP: (&str, &str) = ("__expf(", "expf(");
const DIVIDE: (&str, &str) = ("__fdividef(1.0f, ", "(1.0f / (");
const DIVIDE_END: (&str, &str) = ("expf(-x)); }", "expf(-x))); }");
const CONTIGUOUS: (&str, &str) = ("[chunk * 32 + lane]", "[lane * CHUNKS + chunk]");
const CONTIGUOUS_TOO: (&str, &str) = ("[k * 32 + lane]", "[lane * CHUNKS + k]");
const UNFUSED: (&str, &str) = (" fmaf(", " unfused(");
const UNFUSED_IS: (&str, &str) = (
    "using u64 = unsigned long long;",
    "using u64 = unsigned long long;\n__device__ inline float unfused(float a, float b, float c) { return __fadd_rn(__fmul_rn(a, b), c); }",
);
const ROOT: (&str, &str) = ("rsqrtf(", "1.0f / sqrtf(");
const BACKWARDS: (&str, &str) = (
    "for (int k = 0; k < CHUNKS; ++k) {",
    "for (int k = CHUNKS - 1; k >= 0; --k) {",
);
const TANH: (&str, &str) = ("tanh_of(n_input", "tanhf(n_input");

const VARIANTS: &[Variant] = &[
    ("as it is", &[]),
    ("chunks backwards", &[BACKWARDS]),
    (
        "a lane's elements side by side",
        &[CONTIGUOUS, CONTIGUOUS_TOO],
    ),
    ("no fused multiply-add", &[UNFUSED, UNFUSED_IS]),
    ("sqrtf", &[ROOT]),
    ("expf", &[EXP]),
    ("division", &[DIVIDE, DIVIDE_END]),
    ("tanhf", &[TANH]),
    ("expf, division, tanhf", &[EXP, DIVIDE, DIVIDE_END, TANH]),
    (
        "all of it",
        &[
            BACKWARDS,
            CONTIGUOUS,
            CONTIGUOUS_TOO,
            UNFUSED,
            UNFUSED_IS,
            ROOT,
            EXP,
            DIVIDE,
            DIVIDE_END,
            TANH,
        ],
    ),
];

const MEASURES: [&str; 5] = [
    "teacher_prob_max_diff",
    "teacher_prob_mean_diff",
    "h0_max_diff",
    "h1_max_diff",
    "teacher_score_diff",
];

fn main() -> Result<ExitCode, String> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().ok_or("which folder?")?;
    // The judge starts this program again as its two children.
    match folder.as_str() {
        "harness-compiler" => return Ok(compiler::main()),
        "harness-worker" => return Ok(worker::main()),
        _ => {}
    }
    let mut options = JudgeRequest::new(&folder);
    options.device = words.next().ok_or("which device?")?.parse()?;
    let draws: u64 = words
        .next()
        .map_or(Ok(6), |w| w.parse().map_err(|_| "DRAWS is a number"))?;
    let only: Vec<String> = words.collect();

    let kernel = Path::new(&folder).join("kernel.cu");
    let source =
        std::fs::read_to_string(&kernel).map_err(|e| format!("{}: {e}", kernel.display()))?;
    let changed = tempfile::Builder::new()
        .suffix(".cu")
        .tempfile()
        .map_err(|e| e.to_string())?;
    options.kernel = Some(changed.path().to_owned());

    println!(
        "{:<36} {}  mismatches",
        "variant",
        MEASURES.map(|m| format!("{m:>23}")).concat()
    );
    let mut worst = [0.0f64; MEASURES.len()];
    let wanted =
        |name: &str| only.is_empty() || only.iter().any(|word| name.contains(word.as_str()));
    for (name, replacements) in VARIANTS.iter().filter(|(name, _)| wanted(name)) {
        let mut text = source.clone();
        for (from, to) in *replacements {
            if !text.contains(from) {
                return Err(format!("{name}: kernel.cu has no '{from}' any more"));
            }
            text = text.replace(from, to);
        }
        std::fs::write(changed.path(), text).map_err(|e| e.to_string())?;
        let (mut largest, mut mismatches) = ([0.0f64; MEASURES.len()], 0.0);
        for draw in 0..draws {
            options.seed = Some(draw);
            let report = verify(&options)?;
            for (largest, measure) in largest.iter_mut().zip(MEASURES) {
                *largest = worse(*largest, report.number(measure).unwrap_or(f64::NAN));
            }
            mismatches += report.number("sample_mismatches").unwrap_or(f64::NAN);
        }
        println!(
            "{name:<36} {}  {mismatches}",
            largest.map(|v| format!("{v:>23.2e}")).concat()
        );
        for (worst, value) in worst.iter_mut().zip(largest) {
            *worst = worse(*worst, value);
        }
    }
    println!(
        "{:<36} {}",
        "ten times the worst",
        worst.map(|v| format!("{:>23.2e}", 10.0 * v)).concat()
    );
    Ok(ExitCode::SUCCESS)
}

/// The larger number; NaN counts as the largest.
fn worse(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}

/// One judgement with any verdict. Returns an error if it did not reach its gates.
fn verify(options: &JudgeRequest) -> Result<Report, String> {
    let log = Log::default();
    judge(options.clone(), log.clone());
    let bytes = log.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let report = Report::read(&text);
    if report.value("h1_max_diff").is_some() {
        Ok(report)
    } else {
        Err(text)
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
