//! The words of the screen that are this tool's own, each with one sentence. The help shows them,
//! those that stand on the screen first, and the panes show the sentence of a result line beside
//! its figure where there is room.

/// One word: its forms, as they stand on the screen or in run.log, with ` | ` between them; and what
/// it means. A form that begins with `_` is the end of a longer word. The first form is its name in
/// the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(&'static str, pub &'static str);

/// All words: outcomes, decisions, what qualifies a verdict, speeds, bounds, gates, other result
/// lines.
pub const WORDS: &[Word] = &[
    Word(
        "PASS",
        "every gate passed, and the harness said correctness: pass",
    ),
    Word("FAIL", "a gate failed: the results are wrong"),
    Word("BUILD ERROR", "the kernel does not build"),
    Word(
        "CRASH",
        "the run did not end by itself: a crash, a time limit, no result",
    ),
    Word(
        "VOID",
        "the run was ended, or its files changed: it says nothing about the bytes",
    ),
    Word(
        "incumbent | incumbent's | incumbent_sps",
        "the kernel in HEAD, with which the present one is compared",
    ),
    Word(
        "kept | keep",
        "committed, exactly the judged bytes; its row is in the ledger",
    ),
    Word(
        "discarded | discard",
        "the incumbent was put back on disk; the attempt stays in git",
    ),
    Word(
        "HELD OUT | held out | held-out",
        "inputs that no run has used: a keep is checked on them first",
    ),
    Word(
        "sealed | sealed_runs",
        "a sealed run: a judgement on inputs drawn in secret, which no run has launched",
    ),
    Word(
        "rules",
        "what says how a kernel is judged: problem.toml, reference.*, most keys of lab.toml",
    ),
    Word(
        "peer | peers | peer_call | peer_versions | peer_workload",
        "another implementation of the problem that the kernel was timed beside; 1.65× means 1.65 times as fast",
    ),
    Word("stale", "about older bytes than those on disk"),
    Word(
        "caveated | caveat",
        "a caveat qualifies the result, such as a clock that moved; it may still be kept",
    ),
    Word(
        "emulated",
        "run on the processor: the times say nothing about a GPU",
    ),
    Word(
        "external",
        "judged by a harness of your own, not by the built-in one",
    ),
    Word(
        "not comparable",
        "experiments of another device or kernel, which the chart leaves out",
    ),
    Word(
        "faster | slower",
        "the whole interval of the ratio lies beyond the difference that counts as the same",
    ),
    Word(
        "same",
        "the interval of the ratio excludes a difference that counts",
    ),
    Word(
        "undecided",
        "the measurement shows neither faster nor slower nor same",
    ),
    Word("open", "a run with a verdict that nobody kept or discarded"),
    Word(
        "mixed",
        "a workload is slower, though the whole is not, or another one is faster: a person decides",
    ),
    Word(
        "worst_workload | workload_speeds",
        "the slower workload with the lowest ratio, and how many workloads have which verdict",
    ),
    Word(
        "aggregate | geometric mean | arithmetic mean",
        "how the figures of several workloads become one: their geometric or arithmetic mean, or the worst",
    ),
    Word(
        "of_floor | % of floor",
        "the floor in percent of the workload's time: 100 cannot be reached",
    ),
    Word(
        "heat",
        "how far a workload is from the incumbent: a bar with a sign",
    ),
    Word(
        "objective",
        "what a good kernel is good at, the key of the figure that is optimised",
    ),
    Word(
        "vs best",
        "the change against the best kept experiment before it",
    ),
    Word(
        "± | …",
        "the interval: it holds the true value with 95 % confidence",
    ),
    Word(
        "speed_ratio | ratio",
        "the candidate's speed over the incumbent's, with its interval",
    ),
    Word(
        "quads | ABBA blocks | ABBA block",
        "blocks of four timed turns: incumbent, candidate, candidate, incumbent; a linear drift cancels in them",
    ),
    Word(
        "spread | spread_pct",
        "median distance of the candidate's turns from their median, in percent",
    ),
    Word(
        "mad_us | MAD",
        "median distance of the launches' times from their median, in µs",
    ),
    Word(
        "so far",
        "what the run in progress has measured; the verdict may differ",
    ),
    Word(
        "throughput_sps | sps",
        "samples a second; the figure that is optimised unless lab.toml names another",
    ),
    Word("kernel_us", "time of one launch or step in µs"),
    Word(
        "latency_us",
        "time of a single launch with what the launch itself costs, in µs",
    ),
    Word(
        "gbps | gflops",
        "bytes moved, or operations done, by the stated algorithm in a second, in 10⁹",
    ),
    Word(
        "throughput_gbps | throughput_tflops",
        "bytes moved in 10⁹ a second, or operations done in 10¹² a second, by the stated algorithm",
    ),
    Word(
        "floor | floor_us",
        "a time that the device cannot beat: below it a measurement is wrong",
    ),
    Word(
        "of_estimate | estimate | estimate_us",
        "the estimate is the time that a good implementation of the stated algorithm takes; of_estimate is the share of it \
         that the kernel reaches, in percent",
    ),
    Word(
        "exchanges",
        "times that all blocks wait for each other in the stated algorithm",
    ),
    Word(
        "gate | gates",
        "one number with a limit: a run passes only if every gate passes",
    ),
    Word(
        "margin | sample_margin",
        "the smallest change of the scores that would change a token: rounding must not reach it",
    ),
    Word("_unwritten", "outputs that the kernel left as they were"),
    Word("_not_finite", "outputs that are NaN or infinite"),
    Word(
        "_mismatched",
        "the largest part of the outputs that differ by more than the tolerance: 1 is all",
    ),
    Word(
        "_error | _max_diff | _diff",
        "the largest difference from the reference",
    ),
    Word(
        "out_of_bounds",
        "bytes that the kernel wrote outside of its buffers",
    ),
    Word(
        "inputs_changed",
        "bytes of the inputs that the kernel changed",
    ),
    Word(
        "races",
        "accesses of two threads to the same place that nothing orders",
    ),
    Word(
        "first_failure",
        "the first wrong value: where it is, and both values",
    ),
    Word("sandbox", "what holds the kernel and the compiler back"),
    Word(
        "throttle",
        "why the GPU ran slower than it can; none is best",
    ),
    Word(
        "foreign_processes | strangers",
        "other processes that used the GPU during the measurement",
    ),
    Word(
        "spilled | spills | spill_bytes",
        "registers that the compiler put into memory, which is slow",
    ),
    Word(
        "occupancy",
        "threads that fit on a multiprocessor at once, in percent of the most possible",
    ),
    Word(
        "Speed of light",
        "how near each part of the GPU came to the most that it can sustain, in percent",
    ),
    Word(
        "Roofline | roofline",
        "operations for each byte of DRAM, below the lower of two limits: arithmetic and DRAM",
    ),
    Word(
        "hot lines | hot line",
        "lines with at least 2 % of the samples, or with excess sectors",
    ),
    Word(
        "samples",
        "how often the profiler found a warp at a line or an instruction",
    ),
    Word(
        "excess sectors",
        "32-byte pieces of memory that moved beyond what the addresses need",
    ),
    Word(
        "long_scoreboard",
        "a warp waits for data from L1, L2 or DRAM",
    ),
    Word(
        "short_scoreboard",
        "a warp waits for data from shared memory and the like",
    ),
    Word("not_selected", "a warp is ready, and another one issues"),
    Word(
        "standby",
        "a judge process that was started before it is needed",
    ),
    Word("trailers", "lines Key: value below a commit message"),
];

impl Word {
    pub fn forms(&self) -> impl Iterator<Item = &'static str> {
        self.0.split(" | ")
    }

    /// Its name in the help.
    pub fn name(&self) -> &'static str {
        let first = self.forms().next();
        first.unwrap_or_default().trim_start_matches('_')
    }

    /// Whether a text holds one of its forms as a word.
    pub fn is_in(&self, text: &str) -> bool {
        self.forms().any(|form| stands_in(text, form))
    }
}

/// The sentence of a result line: its key is a form, or ends in one. `None` for a harness's own
/// keys.
pub fn meaning_of_key(key: &str) -> Option<&'static str> {
    let is_form = |form: &str| form == key || (form.starts_with('_') && key.ends_with(form));
    let word = WORDS.iter().find(|word| word.forms().any(is_form));
    word.map(|word| word.1)
}

fn stands_in(text: &str, form: &str) -> bool {
    let is_letter = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    };
    text.match_indices(form).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + form.len()..].chars().next();
        // The end of a longer word needs letters before it; a sign is no word.
        let begins = if form.starts_with('_') {
            is_letter(before)
        } else {
            !is_letter(before) || !form.starts_with(char::is_alphabetic)
        };
        begins && (!is_letter(after) || !form.ends_with(char::is_alphabetic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&'static str> {
        WORDS
            .iter()
            .filter(|word| word.is_in(text))
            .map(Word::name)
            .collect()
    }

    #[test]
    fn a_word_is_found_as_a_word() {
        assert_eq!(names("● PASS  caveated"), ["PASS", "caveated"]);
        assert_eq!(names("◐ HELD OUT ▰▰▱"), ["HELD OUT"]);
        assert_eq!(names("speed_ratio 1.02 quads=3"), ["speed_ratio", "quads"]);
        assert_eq!(names("PASSED floors sandboxes"), Vec::<&str>::new());
        assert_eq!(names("y_mismatched 0"), ["mismatched"]);
        assert_eq!(names("3.1 % ± 0.3"), ["±"]);
    }

    #[test]
    fn each_form_belongs_to_one_word_and_each_meaning_is_short() {
        let forms: Vec<&str> = WORDS.iter().flat_map(Word::forms).collect();
        for (at, form) in forms.iter().enumerate() {
            assert!(!forms[..at].contains(form), "{form} twice");
        }
        for word in WORDS {
            assert!(
                !word.1.ends_with('.') && word.1.len() < 170,
                "{}",
                word.name()
            );
        }
    }

    #[test]
    fn the_documentation_has_each_word() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");
        let pages = [
            "glossary.md",
            "run-log.md",
            "verdicts.md",
            "results.md",
            "screen.md",
            "sandbox.md",
            "profile.md",
        ];
        let problems = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/README.md");
        let mut text = std::fs::read_to_string(problems).expect("the page is here");
        for page in pages {
            text += &std::fs::read_to_string(format!("{docs}{page}")).expect("the page is here");
        }
        let missing: Vec<&str> = WORDS
            .iter()
            .filter(|word| !word.forms().any(|form| text.contains(form)))
            .map(Word::name)
            .collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn a_result_line_has_its_sentence() {
        assert!(meaning_of_key("spread_pct").is_some_and(|text| text.contains("percent")));
        assert!(meaning_of_key("y_unwritten").is_some());
        assert_eq!(meaning_of_key("my_own_key"), None);
    }
}
