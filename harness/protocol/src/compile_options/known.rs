//! The options in one word, and what may stand behind their `=`.

use super::CompileOptions;
use crate::text::is_among;

/// Most digits of a number: no option needs a larger one.
const DIGITS: usize = 10;

/// Whether a value may stand behind an option's name. `wanted` is the last column of a table: a kind
/// of value, or the words that may stand there, with `|` between them.
fn accepts(wanted: &str, value: Option<&str>) -> bool {
    let is_number = |text: &str| {
        !text.is_empty() && text.len() <= DIGITS && text.chars().all(|c| c.is_ascii_digit())
    };
    match (wanted, value) {
        ("nothing" | "switch", None) => true,
        ("nothing", Some(_)) | (_, None) => false,
        ("number", Some(value)) => is_number(value),
        ("numbers", Some(value)) => value.split(',').all(is_number),
        ("switch", Some(value)) => matches!(value, "true" | "false"),
        ("processor", Some(value)) => {
            let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.+,!:".contains(c);
            !value.is_empty() && value.len() <= 64 && value.chars().all(is_part)
        }
        (words, Some(value)) => words.split('|').any(|word| word == value),
    }
}

/// Fails if a value may not stand behind an option's name. The error says what to write.
fn check(wanted: &str, value: Option<&str>) -> Result<(), String> {
    if accepts(wanted, value) {
        return Ok(());
    }
    Err(match wanted {
        "nothing" => "it takes no value: remove the value".into(),
        "number" => "its value is a number: write one behind =".into(),
        "numbers" => "its value is a list of numbers, as in =177,550: write one".into(),
        "switch" => "its value is true or false: write one of them".into(),
        "processor" => {
            "its value is the name of a processor or an instruction set: write one".into()
        }
        words => format!(
            "its value is one of {}: write one of them",
            words.replace('|', ", ")
        ),
    })
}

/// NVRTC's options: the two names, of which the first is passed on, and the value.
const GPU: &str = "\
--use_fast_math -use_fast_math nothing
--maxrregcount -maxrregcount number
--ftz -ftz switch
--prec-div -prec-div switch
--prec-sqrt -prec-sqrt switch
--fmad -fmad switch
--device-debug -G nothing
--extra-device-vectorization -extra-device-vectorization nothing
--restrict -restrict nothing
--device-int128 -device-int128 nothing
--device-as-default-execution-space -default-device nothing
--extended-lambda -extended-lambda nothing
--expt-extended-lambda -expt-extended-lambda nothing
--expt-relaxed-constexpr -expt-relaxed-constexpr nothing
--builtin-move-forward -builtin-move-forward switch
--builtin-initializer-list -builtin-initializer-list switch
--modify-stack-limit -modify-stack-limit switch
--device-stack-protector -device-stack-protector switch
--dopt -dopt on|off
--Ofast-compile -Ofc 0|min|mid|max
--jump-table-density -jtd number
--split-compile -split-compile number
--minimal -minimal nothing
--diag-error -diag-error numbers
--diag-suppress -diag-suppress numbers
--diag-warn -diag-warn numbers
--display-error-number -err-no nothing
--no-display-error-number -no-err-no nothing";

/// Options that the lab gives NVRTC anyway. They pass, and nobody gets them twice.
const ALWAYS: &str = "--generate-line-info -lineinfo";

/// What may stand behind `--ptxas-options=`: the two names, and the value.
const PTXAS: &str = "\
-O0 -O1 nothing
-O2 -O3 nothing
--opt-level -O number
--verbose -v nothing
--maxrregcount -maxrregcount number
--register-usage-level -register-usage-level number
--def-load-cache -dlcm ca|cg|cs|cv|lu
--force-load-cache -flcm ca|cg|cs|cv|lu
--def-store-cache -dscm wb|cg|cs|wt
--force-store-cache -fscm wb|cg|cs|wt
--allow-expensive-optimizations -allow-expensive-optimizations switch
--disable-optimizer-constants -disable-optimizer-consts nothing
--fmad -fmad switch
--warn-on-spills -warn-spills nothing
--warn-on-local-memory-usage -warn-lmem-usage nothing
--warn-on-double-precision-use -warn-double-usage nothing
--suppress-stack-size-warning -suppress-stack-size-warning nothing
--disable-warnings -w nothing
--warning-as-error -Werror nothing";

/// Whole words of g++ and clang++: optimisation, debug information, warnings, processors.
const HOST: &str = "\
    -O -O0 -O1 -O2 -O3 -Og -Os -Oz -Ofast -g -g0 -g1 -g2 -g3 -ggdb -pedantic -pedantic-errors \
    -mfma -mfma4 -mf16c -mbmi -mbmi2 -mpopcnt -mlzcnt -mmovbe -madx -mgfni -maes -mpclmul -mvaes \
    -mvpclmulqdq -msha -mvzeroupper -mdaz-ftz -mrecip";

/// Options of g++ and clang++ with a value: the name, and the value.
const HOST_VALUED: &str = "\
-march processor
-mtune processor
-mcpu processor
-mrecip processor
-mprefer-vector-width none|128|256|512
-mfpmath sse|387|both
-ffp-contract off|on|fast|fast-honor-pragmas
-ffp-model precise|strict|fast|aggressive
-fexcess-precision fast|standard|16
-fdenormal-fp-math processor
-fvect-cost-model unlimited|dynamic|cheap|very-cheap
-fsimd-cost-model unlimited|dynamic|cheap|very-cheap
-finline-limit number
-falign-functions number
-falign-loops number
-falign-jumps number
-falign-labels number
-fmax-errors number
-ferror-limit number
-ftemplate-depth number
-ftemplate-backtrace-limit number
-fconstexpr-depth number
-fconstexpr-steps number
-fconstexpr-loop-limit number
-fconstexpr-ops-limit number";

/// Switches of g++ and clang++: each passes as `-fNAME` and as `-fno-NAME`.
const SWITCHES: &str = "\
    align-functions align-jumps align-labels align-loops approx-func associative-math builtin \
    cx-fortran-rules cx-limited-range delete-null-pointer-checks elide-constructors fast-math \
    finite-loops finite-math-only float-store gcse honor-infinities honor-nans if-conversion \
    if-conversion2 inline inline-functions inline-small-functions ipa-cp ipa-cp-clone ipa-pta \
    ivopts jump-tables loop-interchange loop-unroll-and-jam math-errno omit-frame-pointer \
    openmp-simd peel-loops permissive prefetch-loop-arrays protect-parens reciprocal-math \
    rename-registers reorder-blocks reorder-functions rounding-math schedule-insns \
    schedule-insns2 signed-char signed-zeros single-precision-constant slp-vectorize split-loops \
    strict-aliasing strict-overflow trapping-math tree-loop-distribution tree-loop-im \
    tree-loop-vectorize tree-pre tree-slp-vectorize tree-vectorize unroll-all-loops unroll-loops \
    unsafe-math-optimizations unsigned-char unswitch-loops vectorize wrapv";

/// The row of a table that has this name: its first name, and the value.
fn row(table: &'static str, name: &str) -> Option<(&'static str, &'static str)> {
    table.lines().find_map(|line| {
        let (names, value) = line.rsplit_once(' ')?;
        let first = names.split(' ').next()?;
        is_among(name, names).then_some((first, value))
    })
}

impl CompileOptions {
    /// Reads an option that names nothing else. Returns how many strings it takes; `None` for an option
    /// that is not on the list.
    pub(super) fn read_flag(
        &mut self,
        option: &str,
        next: Option<&str>,
    ) -> Result<Option<usize>, String> {
        if is_among(option, ALWAYS) {
            return Ok(Some(1));
        }
        if matches!(option, "-w" | "--disable-warnings") {
            self.for_both("-w".into());
            return Ok(Some(1));
        }
        let (name, value) = split(option);
        let or_next = |takes_next: bool| match value {
            None if takes_next => (next, 2),
            value => (value, 1),
        };
        if matches!(name, "--ptxas-options" | "-Xptxas") {
            let (list, words) = or_next(true);
            let list = list.unwrap_or_default();
            check_ptxas(list)?;
            self.nvrtc.push(format!("--ptxas-options={list}"));
            return Ok(Some(words));
        }
        if let Some((long, wanted)) = row(GPU, name) {
            let (value, words) = or_next(!matches!(wanted, "nothing" | "switch"));
            check(wanted, value)?;
            self.nvrtc.push(match (wanted, value) {
                ("switch", None) => format!("{long}=true"),
                (_, None) => long.to_owned(),
                (_, Some(value)) => format!("{long}={value}"),
            });
            return Ok(Some(words));
        }
        let valued = row(HOST_VALUED, name).filter(|_| value.is_some());
        if let Some((_, wanted)) = valued {
            check(wanted, value)?;
        }
        if valued.is_none() && !is_plain(option) && !is_warning(option) {
            return Ok(None);
        }
        self.host.push(option.to_owned());
        Ok(Some(1))
    }
}

/// `--name=value` as its name and its value.
fn split(option: &str) -> (&str, Option<&str>) {
    option
        .split_once('=')
        .map_or((option, None), |(name, value)| (name, Some(value)))
}

/// Fails if one of these options, between which commas stand, does not pass to ptxas.
fn check_ptxas(list: &str) -> Result<(), String> {
    for option in list.split(',') {
        let (name, value) = split(option);
        if !row(PTXAS, name).is_some_and(|(_, wanted)| accepts(wanted, value)) {
            let shown: String = option.chars().take(80).collect();
            return Err(format!(
                "{shown:?} is no option of ptxas that passes: use others, such as -O3 or -dlcm=cg"
            ));
        }
    }
    Ok(())
}

/// A word of g++ or clang++ without a value.
fn is_plain(option: &str) -> bool {
    let switch = |name: &str| is_among(name.strip_prefix("no-").unwrap_or(name), SWITCHES);
    let is_set = |name: &str| {
        let letters =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-');
        ["avx", "sse", "amx-"]
            .iter()
            .any(|family| name.starts_with(family))
            && name.chars().all(letters)
    };
    let processor = |rest: &str| {
        let name = rest.strip_prefix("no-").unwrap_or(rest);
        is_set(name) || is_among(&format!("-m{name}"), HOST)
    };
    is_among(option, HOST)
        || option.strip_prefix("-f").is_some_and(switch)
        || option.strip_prefix("-m").is_some_and(processor)
}

/// `-Wall`, `-Wno-error=shadow`. An option for the assembler or the linker, as in `-Wl,…`, holds a
/// comma.
fn is_warning(option: &str) -> bool {
    option.strip_prefix("-W").is_some_and(|name| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '=');
        name.len() > 1 && name.chars().all(is_part)
    })
}
