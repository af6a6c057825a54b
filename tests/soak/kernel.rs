//! Kernels whose first word decides their result, and the harness that reads it.

/// The flood is 20,000 lines as fast as they go.
pub const HARNESS: &str = r#"
echo "device: test bench"
read -r word number < kernel.cu
case "$word" in
    flood) i=0; while [ $i -lt 20000 ]; do echo "line $i of a harness that prints and prints and prints"; i=$((i+1)); done ;;
    hangs) exec sleep 600 ;;
    wrong) echo "out_max_diff: 1 limit=1e-05"; echo "correctness: fail"; exit ;;
    off) echo "the sum of $number is off"; echo "correctness: fail"; exit ;;
    broken) echo "kernel.cu(1): error: expected a ';' before $number"; exit 1 ;;
    dies) echo "out of bounds at $number"; exit 3 ;;
    killed) kill -SEGV $$ ;;
esac
echo "out_max_diff: 1e-06 limit=1e-05"
echo "throughput_sps: $number low=$number high=$number"
echo "kernel_us: 5"
echo "correctness: pass"
"#;

/// Any kernel that a user may save.
pub const WORDS: &[&str] = &[
    "speed", "speed", "flood", "flood", "hangs", "wrong", "off", "broken", "dies", "killed",
];

/// A kernel that can be discarded. Its verdict has the kernel's number, so that no older verdict is
/// taken for it.
pub const UNLUCKY: &[&str] = &["speed", "off", "broken", "dies"];

/// A saved kernel. Each has a number of its own.
#[derive(Clone, Copy)]
pub struct Kernel {
    pub word: &'static str,
    pub number: u64,
}

impl Kernel {
    /// Some lines stay from one kernel to the next, others change.
    pub fn text(self) -> String {
        let Kernel { word, number } = self;
        let line = |at: u64| {
            let of = number - number % 40 + at * 7 % 40;
            format!(
                "    x[{at}] = sqrtf({of}.0f) * threadIdx.x; // {}\n",
                if of <= number { of } else { at }
            )
        };
        let body: String = (0..30).map(line).collect();
        format!("{word} {number}\n__global__ void k(float* x) {{\n{body}}}\n")
    }

    /// The words of its verdict on the screen, which no line of run.log has.
    pub fn verdict(self) -> String {
        let Kernel { word, number } = self;
        match word {
            "off" => format!("correctness: fail: the sum of {number} is off"),
            "broken" => format!("(exit code 1): kernel.cu:1: expected a ';' before {number}"),
            "dies" => format!("(exit code 3): out of bounds at {number}"),
            _ => format!("{},{:03} sps", number / 1_000, number % 1_000),
        }
    }

    pub fn passes(self) -> bool {
        self.word == "speed"
    }

    /// The measures in its row: samples a second, microseconds, correctness.
    pub fn figures(self) -> String {
        match self.passes() {
            true => format!("{}.0\t5.0\tpass", self.number),
            false => "0.0\t0.0\tfail".to_owned(),
        }
    }

    /// The description of its discard.
    pub fn fate(self) -> &'static str {
        if matches!(self.word, "broken" | "dies") {
            "crash"
        } else {
            "discard"
        }
    }
}
