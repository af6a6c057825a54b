//! The shape of a tensor of PyTorch, from the host code of an extension.

use super::host::{Host, bare};
use lab_source::cpp::Code;

/// Most definitions that lead from one tensor to another, as `y = torch::empty_like(x)`.
const MOST: usize = 4;

/// The shape of the tensor that the launch passes as this argument. `dim` gives the dimension that
/// an argument of the launch is, by its number. `None` where the host code does not say all of it.
pub fn shape(
    host: &Host,
    number: usize,
    dim: &dyn Fn(usize) -> Option<String>,
) -> Option<Vec<String>> {
    let tensor = bare(host.launch.arguments.get(number)?);
    Sizes { host, dim }.of(&tensor, MOST)
}

struct Sizes<'a> {
    host: &'a Host,
    dim: &'a dyn Fn(usize) -> Option<String>,
}

impl Sizes<'_> {
    fn of(&self, tensor: &str, depth: usize) -> Option<Vec<String>> {
        if let Some(shape) = self.asked(tensor) {
            return Some(shape);
        }
        let defined = self.host.definition(tensor).filter(|_| depth > 0)?;
        let [text] = defined.as_slice() else {
            return None;
        };
        let code = Code::new(text.as_str(), false);
        let open = (0..code.tokens.len()).find(|at| code.at(*at) == "(")?;
        let made = code.word(open.checked_sub(1)?);
        let first = code.split(open + 1, code.partner(open), false);
        match made {
            "empty" | "zeros" | "ones" | "full" => {
                let (from, to) = *first.first()?;
                if code.at(from) == "{" {
                    let parts = code.split(from + 1, code.partner(from), false);
                    let mut parts = parts.into_iter().map(|(from, to)| code.spelled(from, to));
                    return parts.try_fold(Vec::new(), |mut shape, part| {
                        shape.push(self.extent(&part)?);
                        Some(shape)
                    });
                }
                let is_shape = code.spelled(from, to).ends_with(".sizes()");
                self.of(code.word(from), depth - 1).filter(|_| is_shape)
            }
            "empty_like" | "zeros_like" | "ones_like" | "full_like" => {
                self.of(code.word(open + 1), depth - 1)
            }
            "contiguous" | "clone" | "to" => self.of(code.word(0), depth - 1),
            _ => None,
        }
    }

    /// The sizes of a tensor that the host code asks for, as in `n = x.size(0)`.
    fn asked(&self, tensor: &str) -> Option<Vec<String>> {
        let code = &self.host.code;
        let mut found: Vec<(usize, String)> = Vec::new();
        for at in 0..self.host.launch.at {
            let is_size = code.at(at + 1) == "." && code.at(at + 2) == "size";
            if code.word(at) != tensor || !is_size {
                continue;
            }
            let end = code.partner(at + 3) + 1;
            let is_named = at > 1 && code.at(at - 1) == "=" && code.at(end) == ";";
            let text = match is_named {
                true => code.word(at - 2).to_owned(),
                false => code.spelled(at, end),
            };
            if let (Ok(axis), Some(extent)) = (code.at(at + 4).parse(), self.extent(&text)) {
                found.push((axis, extent));
            }
        }
        found.sort();
        found.dedup_by_key(|(axis, _)| *axis);
        let is_whole = found.iter().enumerate().all(|(at, (axis, _))| at == *axis);
        let shape: Vec<String> = found.into_iter().map(|(_, extent)| extent).collect();
        (is_whole && !shape.is_empty()).then_some(shape)
    }

    /// A text of the host code as an extent: a number, or the dimension that the launch passes it
    /// as.
    fn extent(&self, text: &str) -> Option<String> {
        let plain = |text: &str| bare(text).split_whitespace().collect::<String>();
        let wanted = plain(text);
        if wanted.parse::<u32>().is_ok() {
            return Some(wanted);
        }
        let mut arguments = self.host.launch.arguments.iter();
        (self.dim)(arguments.position(|argument| plain(argument) == wanted)?)
    }
}
