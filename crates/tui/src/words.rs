//! The words of the screen that are this tool's own, each with one sentence. The help shows them,
//! those that stand on the screen first, and the panes show the sentence of a result line beside
//! its figure where there is room.

/// One word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// How it stands on the screen or in run.log. A form that begins with `_` is the end of a
    /// longer word. The first form is its name in the help.
    pub forms: &'static [&'static str],
    pub meaning: &'static str,
}

const fn word(forms: &'static [&'static str], meaning: &'static str) -> Word {
    Word { forms, meaning }
}

/// All words: outcomes, decisions, what qualifies a verdict, speeds, bounds, gates, other result
/// lines.
pub const WORDS: &[Word] = &[
    word(
        &["PASS"],
        "every gate passed, and the harness said correctness: pass",
    ),
    word(&["FAIL"], "a gate failed: the results are wrong"),
    word(&["BUILD ERROR"], "the kernel does not build"),
    word(
        &["CRASH"],
        "the run did not end by itself: a crash, a time limit, no result",
    ),
    word(
        &["VOID"],
        "the run was ended, or its files changed: it says nothing about the bytes",
    ),
    word(
        &["incumbent", "incumbent's", "incumbent_sps"],
        "the kernel in HEAD, with which the present one is compared",
    ),
    word(
        &["kept", "keep"],
        "committed, exactly the judged bytes; its row is in the ledger",
    ),
    word(
        &["discarded", "discard"],
        "the incumbent was put back on disk; the attempt stays in git",
    ),
    word(
        &["HELD OUT", "held out", "held-out"],
        "inputs that no run has used: a keep is checked on them first",
    ),
    word(
        &["sealed", "sealed_runs"],
        "a sealed run: a judgement on inputs drawn in secret, which no run has launched",
    ),
    word(
        &["rules"],
        "what says how a kernel is judged: problem.toml, reference.*, most keys of lab.toml",
    ),
    word(
        &[
            "peer",
            "peers",
            "peer_call",
            "peer_versions",
            "peer_workload",
        ],
        "another implementation of the problem that the kernel was timed beside; 1.65× means 1.65 times as fast",
    ),
    word(&["stale"], "about older bytes than those on disk"),
    word(
        &["caveated", "caveat"],
        "a caveat qualifies the result, such as a clock that moved; it may still be kept",
    ),
    word(
        &["emulated"],
        "run on the processor: the times say nothing about a GPU",
    ),
    word(
        &["external"],
        "judged by a harness of your own, not by the built-in one",
    ),
    word(
        &["not comparable"],
        "experiments of another device or kernel, which the chart leaves out",
    ),
    word(
        &["faster", "slower"],
        "the whole interval of the ratio lies beyond the difference that counts as the same",
    ),
    word(
        &["same"],
        "the interval of the ratio excludes a difference that counts",
    ),
    word(
        &["undecided"],
        "the measurement shows neither faster nor slower nor same",
    ),
    word(
        &["open"],
        "a run with a verdict that nobody kept or discarded",
    ),
    word(
        &["mixed"],
        "a workload is slower, though the whole is not, or another one is faster: a person decides",
    ),
    word(
        &["worst_workload", "workload_speeds"],
        "the slower workload with the lowest ratio, and how many workloads have which verdict",
    ),
    word(
        &["aggregate", "geometric mean", "arithmetic mean"],
        "how the figures of several workloads become one: their geometric or arithmetic mean, or the worst",
    ),
    word(
        &["of_floor", "% of floor"],
        "the floor in percent of the workload's time: 100 cannot be reached",
    ),
    word(
        &["heat"],
        "how far a workload is from the incumbent: a bar with a sign",
    ),
    word(
        &["objective"],
        "what a good kernel is good at, the key of the figure that is optimised",
    ),
    word(
        &["vs best"],
        "the change against the best kept experiment before it",
    ),
    word(
        &["±", "…"],
        "the interval: it holds the true value with 95 % confidence",
    ),
    word(
        &["speed_ratio", "ratio"],
        "the candidate's speed over the incumbent's, with its interval",
    ),
    word(
        &["quads", "ABBA blocks", "ABBA block"],
        "blocks of four timed turns: incumbent, candidate, candidate, incumbent; a linear drift cancels in them",
    ),
    word(
        &["spread", "spread_pct"],
        "median distance of the candidate's turns from their median, in percent",
    ),
    word(
        &["mad_us", "MAD"],
        "median distance of the launches' times from their median, in µs",
    ),
    word(
        &["so far"],
        "what the run in progress has measured; the verdict may differ",
    ),
    word(
        &["throughput_sps", "sps"],
        "samples a second; the figure that is optimised unless lab.toml names another",
    ),
    word(&["kernel_us"], "time of one launch or step in µs"),
    word(
        &["latency_us"],
        "time of a single launch with what the launch itself costs, in µs",
    ),
    word(
        &["gbps", "gflops"],
        "bytes moved, or operations done, by the stated algorithm in a second, in 10⁹",
    ),
    word(
        &["throughput_gbps", "throughput_tflops"],
        "bytes moved in 10⁹ a second, or operations done in 10¹² a second, by the stated algorithm",
    ),
    word(
        &["floor", "floor_us"],
        "a time that the device cannot beat: below it a measurement is wrong",
    ),
    word(
        &["of_estimate", "estimate", "estimate_us"],
        "the estimate is the time that a good implementation of the stated algorithm takes; of_estimate is the share of it \
         that the kernel reaches, in percent",
    ),
    word(
        &["exchanges"],
        "times that all blocks wait for each other in the stated algorithm",
    ),
    word(
        &["gate", "gates"],
        "one number with a limit: a run passes only if every gate passes",
    ),
    word(
        &["margin", "sample_margin"],
        "the smallest change of the scores that would change a token: rounding must not reach it",
    ),
    word(&["_unwritten"], "outputs that the kernel left as they were"),
    word(&["_not_finite"], "outputs that are NaN or infinite"),
    word(
        &["_mismatched"],
        "the largest part of the outputs that differ by more than the tolerance: 1 is all",
    ),
    word(
        &["_error", "_max_diff", "_diff"],
        "the largest difference from the reference",
    ),
    word(
        &["out_of_bounds"],
        "bytes that the kernel wrote outside of its buffers",
    ),
    word(
        &["inputs_changed"],
        "bytes of the inputs that the kernel changed",
    ),
    word(
        &["races"],
        "accesses of two threads to the same place that nothing orders",
    ),
    word(
        &["first_failure"],
        "the first wrong value: where it is, and both values",
    ),
    word(&["sandbox"], "what holds the kernel and the compiler back"),
    word(
        &["throttle"],
        "why the GPU ran slower than it can; none is best",
    ),
    word(
        &["foreign_processes", "strangers"],
        "other processes that used the GPU during the measurement",
    ),
    word(
        &["spilled", "spills", "spill_bytes"],
        "registers that the compiler put into memory, which is slow",
    ),
    word(
        &["occupancy"],
        "threads that fit on a multiprocessor at once, in percent of the most possible",
    ),
    word(
        &["Speed of light"],
        "how near each part of the GPU came to the most that it can sustain, in percent",
    ),
    word(
        &["Roofline", "roofline"],
        "operations for each byte of DRAM, below the lower of two limits: arithmetic and DRAM",
    ),
    word(
        &["hot lines", "hot line"],
        "lines with at least 2 % of the samples, or with excess sectors",
    ),
    word(
        &["samples"],
        "how often the profiler found a warp at a line or an instruction",
    ),
    word(
        &["excess sectors"],
        "32-byte pieces of memory that moved beyond what the addresses need",
    ),
    word(
        &["long_scoreboard"],
        "a warp waits for data from L1, L2 or DRAM",
    ),
    word(
        &["short_scoreboard"],
        "a warp waits for data from shared memory and the like",
    ),
    word(&["not_selected"], "a warp is ready, and another one issues"),
    word(
        &["standby"],
        "a judge process that was started before it is needed",
    ),
    word(&["trailers"], "lines Key: value below a commit message"),
];

impl Word {
    /// Its name in the help.
    pub fn name(&self) -> &'static str {
        self.forms
            .first()
            .copied()
            .unwrap_or_default()
            .trim_start_matches('_')
    }

    /// Whether a text holds one of its forms as a word.
    pub fn is_in(&self, text: &str) -> bool {
        self.forms.iter().any(|form| stands_in(text, form))
    }
}

/// The sentence of a result line: its key is a form, or ends in one. `None` for a harness's own
/// keys.
pub fn meaning_of_key(key: &str) -> Option<&'static str> {
    let is_form = |form: &&str| *form == key || (form.starts_with('_') && key.ends_with(form));
    WORDS
        .iter()
        .find(|word| word.forms.iter().any(&is_form))
        .map(|word| word.meaning)
}

fn stands_in(text: &str, form: &str) -> bool {
    let is_letter = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    };
    text.match_indices(form).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + form.len()..].chars().next();
        // The end of a longer word needs letters before it; a sign is no word.
        let begins = match form.starts_with('_') {
            true => is_letter(before),
            false => !is_letter(before) || !form.starts_with(char::is_alphabetic),
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
        let forms: Vec<&str> = WORDS.iter().flat_map(|word| word.forms).copied().collect();
        for (at, form) in forms.iter().enumerate() {
            assert!(!forms[..at].contains(form), "{form} twice");
        }
        for word in WORDS {
            assert!(
                !word.meaning.ends_with('.') && word.meaning.len() < 170,
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
            .filter(|word| !word.forms.iter().any(|form| text.contains(form)))
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
