//! Macros with arguments, put in place of their calls.

use super::Code;
use super::directive::Directive;
use std::collections::BTreeMap;

/// A macro with parameters.
#[derive(Clone, Debug)]
struct Macro {
    parameters: Vec<String>,
    body: String,
}

/// The macros with parameters that a source defines, by name. A later definition replaces an
/// earlier one.
#[derive(Clone, Debug, Default)]
pub struct Macros(BTreeMap<String, Macro>);

/// Most calls of macros within one another.
const DEEPEST: usize = 16;

/// Most bytes that a text grows to.
const LONGEST: usize = 1 << 20;

impl Macros {
    /// Adds what a preprocessor line defines, if it is a macro with parameters.
    pub fn add(&mut self, line: &str) {
        // The lines stay lines, without what joins them.
        let lines = line.lines().map(|line| {
            let end = line.trim_end();
            end.strip_suffix('\\').map_or(end, str::trim_end)
        });
        let line = lines.collect::<Vec<_>>().join("\n");
        let Some(directive) = Directive::parse(&line).filter(|d| d.name == "define") else {
            return;
        };
        let Some((name, rest)) = directive.rest.split_once('(') else {
            return;
        };
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let Some((parameters, body)) = rest.split_once(')').filter(|_| name.chars().all(is_name))
        else {
            return;
        };
        let parameters = parameters.split(',').map(|name| name.trim().to_owned());
        let found = Macro {
            parameters: parameters.filter(|name| !name.is_empty()).collect(),
            body: body.trim().to_owned(),
        };
        self.0.insert(name.to_owned(), found);
    }

    /// Leaves only the macros whose text holds one of `signs`, and those that call them.
    #[must_use]
    pub fn with_text(mut self, signs: &[&str]) -> Macros {
        let mut wanted: Vec<String> = Vec::new();
        loop {
            let is_new = |(name, found): &(&String, &Macro)| {
                let words = Code::new(found.body.as_str(), false);
                let calls = |word: usize| wanted.iter().any(|known| known == words.word(word));
                let is_signed = signs.iter().any(|sign| found.body.contains(sign));
                let holds = is_signed || (0..words.tokens.len()).any(calls);
                holds && !wanted.contains(name)
            };
            match self.0.iter().find(is_new) {
                Some((name, _)) => wanted.push(name.clone()),
                None => break,
            }
        }
        self.0.retain(|name, _| wanted.contains(name));
        self
    }

    /// Puts macros in place of their calls, also in what they become.
    pub fn expand(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..DEEPEST {
            match self.expand_once(&text) {
                Some(expanded) if expanded.len() <= LONGEST => text = expanded,
                _ => break,
            }
        }
        text
    }

    /// `None` if nothing was to replace.
    fn expand_once(&self, text: &str) -> Option<String> {
        let code = Code::new(text, true);
        let (mut expanded, mut copied, mut at) = (String::new(), 0, 0);
        while at < code.tokens.len() {
            let called = self.0.get(code.word(at)).filter(|_| code.at(at + 1) == "(");
            if let Some(called) = called {
                let close = code.partner(at + 1).max(at + 1);
                let arguments = code.split(at + 2, close, false).into_iter();
                let arguments = arguments.map(|(from, to)| code.spelled(from, to));
                expanded += &text[copied..code.tokens[at].start];
                expanded += &called.with(&arguments.collect::<Vec<_>>());
                copied = code.tokens[close].end;
                at = close;
            }
            at += 1;
        }
        expanded += &text[copied..];
        (copied > 0).then_some(expanded)
    }
}

impl Macro {
    /// The text with arguments in place of the parameters. `a##b` is one word.
    fn with(&self, arguments: &[String]) -> String {
        let code = Code::new(self.body.as_str(), false);
        let is_paste = |at: usize| code.at(at) == "#" && code.at(at + 1) == "#";
        let (mut text, mut copied, mut at) = (String::new(), 0, 0);
        while at < code.tokens.len() {
            let token = code.tokens[at];
            if is_paste(at) {
                at += 2;
                copied = code
                    .tokens
                    .get(at)
                    .map_or(self.body.len(), |next| next.start);
                continue;
            }
            let parameter = self.parameters.iter().position(|name| name == code.at(at));
            let argument = parameter.and_then(|parameter| arguments.get(parameter));
            text += &self.body[copied..token.start];
            text += argument.map_or_else(|| code.at(at), String::as_str);
            copied = token.end;
            at += 1;
        }
        text += &self.body[copied..];
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_macro_that_launches_is_put_in_place_of_its_call() {
        let mut macros = Macros::default();
        for line in [
            "#define CHECK(x) x",
            "#define LAUNCH(K) \\\n  k_##K<(K) / 2><<<grid, (K)>>>(x, (K));",
            "#define BIND(type, n) void f_ ## type(T x) { LAUNCH(n) }",
            "#define SIZE 4",
        ] {
            macros.add(line);
        }
        let macros = macros.with_text(&["<<<"]);
        let text = macros.expand("CHECK(1)\nBIND(f32, 64)");
        assert_eq!(
            text,
            "CHECK(1)\nvoid f_f32(T x) { k_64<(64) / 2><<<grid, (64)>>>(x, (64)); }"
        );
    }

    #[test]
    fn a_macro_that_calls_itself_ends() {
        let mut macros = Macros::default();
        macros.add("#define A(x) <<< A(x x)");
        assert!(macros.with_text(&["<<<"]).expand("A(1)").len() < LONGEST);
    }
}
