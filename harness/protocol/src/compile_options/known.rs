//! The options in one word, and what may stand behind their `=`.

use super::{CompileOption, for_both};
use crate::text::is_among;

/// What stands behind an option's name.
#[derive(Clone, Copy)]
enum Value {
    /// Nothing.
    No,
    /// Digits.
    Number,
    /// Numbers with commas between them.
    Numbers,
    /// `true` or `false`, or nothing, which is `true`.
    Switch,
    /// One of these words, between which `|` stands.
    One(&'static str),
    /// A name of a processor or an instruction set.
    Processor,
}

/// The digits.
pub const NUMBERS: &str = "0123456789";

/// Most digits of a number: no option needs a larger one.
const DIGITS: usize = 10;

impl Value {
    /// Reads the last column of a table.
    fn of(column: &'static str) -> Value {
        match column {
            "nothing" => Value::No,
            "number" => Value::Number,
            "numbers" => Value::Numbers,
            "switch" => Value::Switch,
            "processor" => Value::Processor,
            words => Value::One(words),
        }
    }

    fn accepts(self, value: Option<&str>) -> bool {
        let digits = |text: &str| {
            !text.is_empty() && text.len() <= DIGITS && text.chars().all(|c| NUMBERS.contains(c))
        };
        match (self, value) {
            (Value::No | Value::Switch, None) => true,
            (Value::Number, Some(value)) => digits(value),
            (Value::Numbers, Some(value)) => value.split(',').all(digits),
            (Value::Switch, Some(value)) => matches!(value, "true" | "false"),
            (Value::One(words), Some(value)) => words.split('|').any(|word| word == value),
            (Value::Processor, Some(value)) => {
                let is_part = |c: char| {
                    c.is_ascii_alphanumeric()
                        || matches!(c, '-' | '_' | '.' | '+' | ',' | '!' | ':')
                };
                !value.is_empty() && value.len() <= 64 && value.chars().all(is_part)
            }
            (Value::No, Some(_))
            | (Value::Number | Value::Numbers | Value::One(_) | Value::Processor, None) => false,
        }
    }

    /// What to write, for an error.
    fn wanted(self) -> String {
        match self {
            Value::No => "it takes no value: remove the value".into(),
            Value::Number => "its value is a number: write one behind =".into(),
            Value::Numbers => "its value is a list of numbers, as in =177,550: write one".into(),
            Value::Switch => "its value is true or false: write one of them".into(),
            Value::One(words) => format!(
                "its value is one of {}: write one of them",
                words.replace('|', ", ")
            ),
            Value::Processor => {
                "its value is the name of a processor or an instruction set: write one".into()
            }
        }
    }
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

/// An option that is on the list, or why its value does not pass; `None` where the lab gives the
/// option anyway.
type Flag = Result<Option<CompileOption>, String>;

fn for_host(word: &str) -> CompileOption {
    CompileOption {
        host: Some(word.to_owned()),
        ..CompileOption::default()
    }
}

fn for_nvrtc(word: String) -> CompileOption {
    CompileOption {
        nvrtc: Some(word),
        ..CompileOption::default()
    }
}

/// The row of a table that has this name: its first name, and the value.
fn row(table: &'static str, name: &str) -> Option<(&'static str, Value)> {
    table.lines().find_map(|line| {
        let (names, value) = line.rsplit_once(' ')?;
        let first = names.split(' ').next()?;
        is_among(name, names).then(|| (first, Value::of(value)))
    })
}

/// Reads an option that names nothing else. Returns how many strings it takes too. `None` for an
/// option that is not on the list.
pub fn flag(option: &str, next: Option<&str>) -> Option<(Flag, usize)> {
    if is_among(option, ALWAYS) {
        return Some((Ok(None), 1));
    }
    if matches!(option, "-w" | "--disable-warnings") {
        return Some((Ok(Some(for_both("-w".into()))), 1));
    }
    let (name, value) = split(option);
    if matches!(name, "--ptxas-options" | "-Xptxas") {
        let (value, words) = if value.is_some() {
            (value, 1)
        } else {
            (next, 2)
        };
        return Some((ptxas(value.unwrap_or_default()), words));
    }
    if let Some((long, wanted)) = row(GPU, name) {
        let takes_next = matches!(wanted, Value::Number | Value::Numbers | Value::One(_));
        let (value, words) = if takes_next && value.is_none() {
            (next, 2)
        } else {
            (value, 1)
        };
        return Some((gpu(long, wanted, value), words));
    }
    let host = || Ok(Some(for_host(option)));
    if let Some((_, wanted)) = row(HOST_VALUED, name).filter(|_| value.is_some()) {
        let accepted = wanted.accepts(value).then(host);
        return Some((accepted.unwrap_or_else(|| Err(wanted.wanted())), 1));
    }
    (is_plain(option) || is_warning(option)).then(|| (host(), 1))
}

/// `--name=value` as its name and its value.
fn split(option: &str) -> (&str, Option<&str>) {
    option
        .split_once('=')
        .map_or((option, None), |(name, value)| (name, Some(value)))
}

fn gpu(name: &str, wanted: Value, value: Option<&str>) -> Flag {
    if !wanted.accepts(value) {
        return Err(wanted.wanted());
    }
    let text = match (wanted, value) {
        (Value::Switch, None) => format!("{name}=true"),
        (_, None) => name.to_owned(),
        (_, Some(value)) => format!("{name}={value}"),
    };
    Ok(Some(for_nvrtc(text)))
}

fn ptxas(list: &str) -> Flag {
    for option in list.split(',') {
        let (name, value) = split(option);
        if !row(PTXAS, name).is_some_and(|(_, wanted)| wanted.accepts(value)) {
            let shown: String = option.chars().take(80).collect();
            return Err(format!(
                "{shown:?} is no option of ptxas that passes: use others, such as -O3 or -dlcm=cg"
            ));
        }
    }
    Ok(Some(for_nvrtc(format!("--ptxas-options={list}"))))
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
