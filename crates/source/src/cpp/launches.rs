//! Launches of kernels in host code: `kernel<T, 4><<<grid, block, shared>>>(a, b)`.

use super::Code;

/// A launch. The texts are as the source writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's name, without the namespaces before it.
    pub kernel: String,
    /// The arguments of its template.
    pub template: Vec<String>,
    /// What stands between `<<<` and `>>>`.
    pub configuration: Vec<String>,
    /// The arguments of the kernel.
    pub arguments: Vec<String>,
    /// The index of the kernel's name among the tokens.
    pub at: usize,
}

/// The launches that a source writes out, in their order.
pub fn launches<T: AsRef<str>>(code: &Code<T>) -> impl Iterator<Item = Launch> {
    let starts = (0..code.tokens.len()).filter(move |at| is_triple(code, *at, "<"));
    starts.filter_map(move |at| launch(code, at))
}

/// Whether three of a sign stand at a token, with nothing between them.
fn is_triple<T: AsRef<str>>(code: &Code<T>, at: usize, sign: &str) -> bool {
    let follows = |i: usize| {
        let (before, token) = (code.tokens.get(i - 1), code.tokens.get(i));
        before.zip(token).is_some_and(|(a, b)| a.end == b.start)
    };
    (at..at + 3).all(|i| code.at(i) == sign) && follows(at + 1) && follows(at + 2)
}

fn launch<T: AsRef<str>>(code: &Code<T>, open: usize) -> Option<Launch> {
    let mut name = open.checked_sub(1)?;
    let mut template = Vec::new();
    if code.at(name) == ">" {
        let before = code.before_angles(name)?;
        template = texts(code, before + 2, name, true);
        name = before;
    }
    let kernel = Some(code.word(name)).filter(|word| !word.is_empty())?;
    let mut close = open + 3;
    while close < code.tokens.len() && !is_triple(code, close, ">") {
        if matches!(code.at(close), ";" | ")" | "}") {
            return None;
        }
        let is_bracket = matches!(code.at(close), "(" | "[" | "{");
        close = if is_bracket {
            code.partner(close).max(close)
        } else {
            close
        } + 1;
    }
    let arguments = match code.at(close + 3) {
        "(" => texts(code, close + 4, code.partner(close + 3), false),
        _ => Vec::new(),
    };
    Some(Launch {
        kernel: kernel.to_owned(),
        template,
        configuration: texts(code, open + 3, close, false),
        arguments,
        at: name,
    })
}

/// What stands between the commas of a range.
fn texts<T: AsRef<str>>(code: &Code<T>, from: usize, to: usize, angles: bool) -> Vec<String> {
    let parts = code.split(from, to, angles).into_iter();
    parts.map(|(from, to)| code.spelled(from, to)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_has_its_template_its_configuration_and_its_arguments() {
        let source = "void f() { ns::k<float, g<float>, 4>  <<< dim3(a, b), 256,\n 0 >>> (x, (int)n); }\n\
                      void h() { plain<<<N / 2, B>>>(); cout << a << b; }";
        let code = Code::new(source, true);
        let found: Vec<Launch> = launches(&code).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].kernel, "k");
        assert_eq!(found[0].template, ["float", "g<float>", "4"]);
        assert_eq!(found[0].configuration, ["dim3(a, b)", "256", "0"]);
        assert_eq!(found[0].arguments, ["x", "(int)n"]);
        assert_eq!(found[1].configuration, ["N / 2", "B"]);
        assert!(found[1].arguments.is_empty());
    }
}
