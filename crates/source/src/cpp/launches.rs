//! Launches of kernels in host code: `kernel<T, 4><<<grid, block, shared>>>(a, b)`, and by the
//! functions of CUDA's runtime, as `cudaLaunchKernel`.

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

/// One of these stands in each text that has a launch. Formatters for C++ write `<< <`, which nvcc
/// takes too.
pub const SIGNS: [&str; 4] = ["<<<", "<< <", "< <<", "cudaLaunch"];

/// The launches that a source writes out, in their order.
pub fn launches<T: AsRef<str>>(code: &Code<T>) -> impl Iterator<Item = Launch> {
    (0..code.tokens.len()).filter_map(move |at| match code.word(at) {
        "cudaLaunchKernel" | "cudaLaunchCooperativeKernel" => by_arguments(code, at),
        "cudaLaunchKernelEx" => by_configuration(code, at),
        _ if is_triple(code, at, "<", true) => launch(code, at),
        _ => None,
    })
}

/// `cudaLaunchKernel((void*)kernel<T>, grid, block, args, shared, stream)`, where `args` are the
/// addresses of the kernel's arguments.
fn by_arguments<T: AsRef<str>>(code: &Code<T>, at: usize) -> Option<Launch> {
    let parts = code.split(at + 2, code.partner(at + 1), true);
    let [function, grid, block, arguments, rest @ ..] = parts.as_slice() else {
        return None;
    };
    let configuration = [grid, block].into_iter().chain(rest);
    let configuration = configuration.map(|(from, to)| code.spelled(*from, *to));
    let mut launch = named(code, *function)?;
    launch.configuration = configuration.collect();
    // `void* args[] = {&x, &n};`
    let list = code.word(arguments.0);
    let made = (0..at)
        .rev()
        .find(|at| code.word(*at) == list && code.at(at + 1) == "[");
    let open = made.map(|at| code.partner(at + 1) + 2);
    let open = open.filter(|open| code.at(open - 1) == "=" && code.at(*open) == "{");
    let each = open.map(|open| code.split(open + 1, code.partner(open), false));
    let each = each.into_iter().flatten().map(|(from, to)| {
        let address = (from..to).find(|at| code.at(*at) == "&");
        code.spelled(address.map_or(from, |at| at + 1), to)
    });
    launch.arguments = each.collect();
    Some(launch)
}

/// `cudaLaunchKernelEx(&config, kernel<T>, a, b)`, where the fields of `config` were set before.
fn by_configuration<T: AsRef<str>>(code: &Code<T>, at: usize) -> Option<Launch> {
    let parts = code.split(at + 2, code.partner(at + 1), true);
    let [config, function, arguments @ ..] = parts.as_slice() else {
        return None;
    };
    let mut launch = named(code, *function)?;
    let arguments = arguments.iter();
    let arguments = arguments.map(|(from, to)| code.spelled(*from, *to));
    launch.arguments = arguments.collect();
    let config = code.word(config.1 - 1);
    let fields = ["gridDim", "blockDim", "dynamicSmemBytes"].into_iter();
    let fields = fields.enumerate().map(|(number, field)| {
        set_before(code, at, config, field).or_else(|| made_with(code, at, config, number))
    });
    launch.configuration = fields.map_while(|field| field).collect();
    Some(launch)
}

/// What a field was last set to before a token.
fn set_before<T: AsRef<str>>(code: &Code<T>, at: usize, of: &str, field: &str) -> Option<String> {
    let is_set =
        |at: &usize| code.word(*at) == of && code.at(at + 2) == field && code.at(at + 3) == "=";
    let set = (0..at).rev().find(is_set)? + 4;
    Some(code.spelled(set, code.statement_end(set, at)))
}

/// The value of a field in `cudaLaunchConfig_t config = {grid, block, shared, stream};`.
fn made_with<T: AsRef<str>>(code: &Code<T>, at: usize, of: &str, number: usize) -> Option<String> {
    let is_made =
        |at: &usize| *at > 0 && code.word(*at) == of && code.word(at - 1) == "cudaLaunchConfig_t";
    let made = (0..at).rev().find(is_made)?;
    let open = made + 1 + usize::from(code.at(made + 1) == "=");
    let parts = code.split(open + 1, code.partner(open), false);
    let (from, to) = parts.get(number).filter(|_| code.at(open) == "{")?;
    Some(code.spelled(*from, *to)).filter(|text| !text.is_empty())
}

/// The kernel that an expression such as `(const void*)&ns::kernel<T, 4>` means.
fn named<T: AsRef<str>>(code: &Code<T>, (from, to): (usize, usize)) -> Option<Launch> {
    let (mut at, mut to) = (from, to);
    loop {
        let close = code.partner(at);
        match code.at(at) {
            "(" if close + 1 == to => (at, to) = (at + 1, close),
            "(" => at = close + 1,
            "&" => at += 1,
            word if word.ends_with("_cast") => at = code.after_angles(at + 1, to),
            _ if code.at(at + 1) == ":" && code.at(at + 2) == ":" => at += 3,
            _ => break,
        }
        if at >= to {
            return None;
        }
    }
    let kernel = Some(code.word(at)).filter(|word| !word.is_empty())?;
    let template = match code.at(at + 1) {
        "<" => texts(code, at + 2, code.after_angles(at + 1, to) - 1, true),
        _ => Vec::new(),
    };
    Some(Launch {
        kernel: kernel.to_owned(),
        template,
        at,
        ..Launch::default()
    })
}

/// Whether three of a sign stand at a token: with nothing between them, or with one gap, as in
/// `<< <`, if `has_gap` allows it.
fn is_triple<T: AsRef<str>>(code: &Code<T>, at: usize, sign: &str, has_gap: bool) -> bool {
    let follows = |i: usize| {
        let (before, token) = (code.tokens.get(i - 1), code.tokens.get(i));
        before.zip(token).is_some_and(|(a, b)| a.end == b.start)
    };
    let is_close = match (follows(at + 1), follows(at + 2)) {
        (true, true) => true,
        (first, second) => has_gap && (first || second),
    };
    (at..at + 3).all(|i| code.at(i) == sign) && is_close
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
    let has_gap = !is_triple(code, open, "<", false);
    while close < code.tokens.len() && !is_triple(code, close, ">", has_gap) {
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
    fn the_runtime_launches_kernels_too() {
        let source = "void f() { void* args[] = {&x, (void*)&n};\n\
                      cudaLaunchKernel((const void*)&ns::k<float, 4>, dim3(n / 2), 256, args, 0, stream);\n\
                      cudaLaunchConfig_t config = {g, 64}; config.gridDim = dim3(a, b);\n\
                      CHECK(cudaLaunchKernelEx(&config, plain, x + 1, n)); }\nvoid cudaLaunchKernel(); int cudaLaunchKernelEx";
        let code = Code::new(source, true);
        let found: Vec<Launch> = launches(&code).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].kernel, "k");
        assert_eq!(found[0].template, ["float", "4"]);
        assert_eq!(
            found[0].configuration,
            ["dim3(n / 2)", "256", "0", "stream"]
        );
        assert_eq!(found[0].arguments, ["x", "n"]);
        assert_eq!(found[1].kernel, "plain");
        assert_eq!(found[1].configuration, ["dim3(a, b)", "64"]);
        assert_eq!(found[1].arguments, ["x + 1", "n"]);
    }

    #[test]
    fn a_launch_may_have_a_gap_in_its_signs() {
        let source = "void f() { k<float> << <(n + 63) / 64, 64 >> > (x, n); l<<<f<g<int> >(n), 1>>>(x);\n\
                      cout << a << b; if (a < b) c = d >> 2 > e; }";
        let code = Code::new(source, true);
        let found: Vec<Launch> = launches(&code).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].kernel, "k");
        assert_eq!(found[0].template, ["float"]);
        assert_eq!(found[0].configuration, ["(n + 63) / 64", "64"]);
        assert_eq!(found[0].arguments, ["x", "n"]);
        assert_eq!(found[1].configuration, ["f<g<int> >(n)", "1"]);
    }

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
