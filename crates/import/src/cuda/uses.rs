//! Where a kernel's body reads and writes its tensors.

use super::body::{Body, Range};

/// What a use does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// Reads and then writes, as `+=` and `atomicAdd`.
    Update,
    /// Unknown: something else gets the pointer, such as a function of another file or a struct.
    Passed,
    /// Moves the pointer, so that later indices do not begin at the tensor.
    Move,
}

/// A use of a tensor.
pub struct Use {
    /// The index of the tensor.
    pub tensor: usize,
    /// The index of the token.
    pub at: usize,
    pub access: Access,
    /// How many numbers of the tensor lie before the end of the last element that it can reach.
    /// `None` if the index is not understood.
    pub reach: Option<i128>,
    /// A function gets the pointer, and may reach farther.
    pub is_open: bool,
}

/// What a use does, its index, and how many numbers an element of the index is and how many the use
/// takes: `(float4*)&p[i]` takes four, and its index counts single ones.
struct Found {
    access: Access,
    index: Option<Range>,
    width: [i128; 2],
    is_open: bool,
}

/// A name for a place in a tensor.
struct Pointer {
    name: String,
    /// The name means this from here on.
    from: usize,
    tensor: usize,
    /// The largest number of elements before it.
    offset: Option<i128>,
    /// How many numbers an element is.
    width: i128,
}

/// Says whether a function writes through the parameter with this number; `None` if the function is
/// unknown.
pub type Writes<'a> = &'a dyn Fn(&str, usize) -> Option<bool>;

/// The uses of the tensors, in the order of the text. A tensor is its name and how many numbers an
/// element of it is.
pub fn uses(body: &Body, tensors: &[(String, usize)], writes: Writes) -> Vec<Use> {
    let each = tensors.iter().enumerate();
    let pointers = each.map(|(tensor, (name, width))| Pointer {
        name: name.clone(),
        from: body.range.0,
        tensor,
        offset: Some(0),
        width: *width as i128,
    });
    let mut found = Finder {
        body,
        pointers: pointers.collect(),
        definitions: Vec::new(),
        writes,
    };
    found.aliases();
    let at = body.range.0..body.range.1;
    at.filter_map(|at| found.use_at(at)).collect()
}

struct Finder<'a> {
    body: &'a Body<'a>,
    pointers: Vec<Pointer>,
    /// Where the names other than the tensors' own are defined.
    definitions: Vec<Range>,
    writes: Writes<'a>,
}

impl Finder<'_> {
    /// The pointer that the word at a token is.
    fn pointer(&self, at: usize) -> Option<&Pointer> {
        let code = self.body.code;
        let word = code.word(at);
        let is_member = at > 0 && code.at(at - 1) == ".";
        let known = self.pointers.iter().rev();
        let mut known = known.filter(|p| p.name == word && p.from <= at && !is_member);
        known.next()
    }

    /// Adds the names that the body gives to places in tensors.
    fn aliases(&mut self) {
        for assigned in &self.body.assignments {
            // `T* p = …`, or a pointer that is set anew.
            let is_known = self.body.code.at(assigned.at.saturating_sub(1)) != "*";
            let known = || self.pointer(assigned.at).filter(|_| is_known);
            let Some(width) = assigned
                .pointer
                .or_else(|| known().map(|pointer| pointer.width as usize))
            else {
                continue;
            };
            let (from, to) = assigned.value;
            let base = (from..to).find_map(|at| Some((at, self.pointer(at)?)));
            let Some((at, base)) = base else {
                continue;
            };
            let code = self.body.code;
            let is_auto = code.at(assigned.at - 1) == "auto";
            // `reinterpret_cast<T*>(p) + …`
            let is_cast = |close: usize| {
                code.at(close) == ")" && code.at(code.partner(close).saturating_sub(1)) == ">"
            };
            let index = self.index(at + usize::from(is_cast(at + 1)), to);
            // `auto v = x[i]` is a value.
            if is_auto && index.is_some() && code.at(from) != "&" {
                continue;
            }
            let added = match index {
                Some(index) => self.body.value(index).map(|value| value.high),
                None => Some(0),
            };
            let pointer = Pointer {
                name: assigned.name.clone(),
                from: to,
                tensor: base.tensor,
                offset: base.offset.zip(added).map(|(a, b)| a + b * base.width),
                width: if is_auto { base.width } else { width as i128 },
            };
            self.definitions.push((assigned.at, to));
            self.pointers.push(pointer);
        }
    }

    /// The expression that is added to the pointer at a token: `p[…]` or `p + …`.
    fn index(&self, at: usize, end: usize) -> Option<Range> {
        let code = self.body.code;
        match (code.at(at + 1), code.at(at + 2)) {
            ("[", _) => Some((at + 2, code.partner(at + 1))),
            ("+", second) if second != "+" && second != "=" => {
                Some((at + 2, self.body.end_of(at + 2).min(end)))
            }
            _ => None,
        }
    }

    fn use_at(&self, at: usize) -> Option<Use> {
        let body = self.body;
        let pointer = self.pointer(at)?;
        if self
            .definitions
            .iter()
            .any(|(from, to)| (*from..*to).contains(&at))
        {
            return None;
        }
        let next = (body.code.at(at + 1), body.code.at(at + 2));
        let is_deref = at > 0 && body.code.at(at - 1) == "*";
        if !is_deref && matches!(next, ("+" | "-", "=") | ("+", "+") | ("-", "-")) {
            return Some(Use {
                tensor: pointer.tensor,
                at,
                access: Access::Move,
                reach: None,
                is_open: false,
            });
        }
        // `mean != nullptr` reads nothing.
        let is_null = matches!(body.code.at(at + 3), "nullptr" | "NULL");
        let is_asked = matches!(next, ("!" | "=", "=")) && is_null
            || matches!(next, ("?", _) | ("&", "&") | ("|", "|"))
            || self.is_condition(at);
        if !is_deref && is_asked {
            return None;
        }
        let Found {
            access,
            index,
            width: [width, size],
            is_open,
        } = self.found(at, pointer.width);
        let high = match index {
            Some(index) => body.value(index).map(|value| value.high),
            None => Some(0).filter(|_| !is_open),
        };
        let reach = pointer.offset.zip(high);
        Some(Use {
            tensor: pointer.tensor,
            at,
            access,
            reach: reach.map(|(offset, high)| offset + high * width + size),
            is_open,
        })
    }

    /// Whether the word at a token is a condition, as in `if (p)`.
    fn is_condition(&self, at: usize) -> bool {
        let code = self.body.code;
        let before = |count: usize| at.checked_sub(count).map_or("", |at| code.at(at));
        match before(1) {
            "!" => true,
            "(" => code.at(at + 1) == ")" && ["if", "while", "sizeof"].contains(&before(2)),
            sign @ ("&" | "|") => before(2) == sign,
            _ => false,
        }
    }

    fn found(&self, at: usize, width: i128) -> Found {
        let code = self.body.code;
        let (mut width, mut end) = ([width; 2], at + 1);
        let mut index = self.index(at, self.body.range.1);
        if let Some((_, after)) = index {
            end = after + usize::from(code.at(at + 1) == "[");
        } else if let Some(cast) = self.cast_before(at) {
            width = [cast; 2];
        }
        let mut is_element = code.at(at.saturating_sub(1)) == "*"
            || (code.at(at + 1), code.at(at + 2)) == ("-", ">");
        // A name of its own for the pointer, such as a field that is set to it, may reach anything.
        let named = |is_element: bool, index: Option<Range>| match is_element || index.is_some() {
            true => (Access::Read, false),
            false => (Access::Passed, true),
        };
        let (access, is_open) = loop {
            let (first, second) = (code.at(end), code.at(end + 1));
            match (first, second) {
                (".", _) => end += 2,
                ("[", _) => {
                    if index.is_none() {
                        index = Some((end + 1, code.partner(end)));
                    }
                    end = code.partner(end) + 1;
                }
                ("=", second) if second != "=" => break (Access::Write, false),
                ("+" | "-" | "*" | "/" | "|" | "&" | "^" | "%", "=") | ("+", "+") | ("-", "-") => {
                    break (Access::Update, false);
                }
                (")" | ",", _) => {
                    let Some(open) = self.enclosing(end) else {
                        break named(is_element, index);
                    };
                    match self.called(open, at) {
                        Some(called) => break called,
                        None if first == ")" => {
                            is_element |= self.is_deref(open);
                            if let Some(cast) = self.cast_at(open) {
                                width = [if index.is_none() { cast } else { width[0] }, cast];
                            }
                            end += 1;
                        }
                        None => break named(is_element, index),
                    }
                }
                _ => break named(is_element, index),
            }
        };
        Found {
            access,
            index,
            width,
            is_open,
        }
    }

    /// Whether `*` stands before brackets, or before the cast that they end.
    fn is_deref(&self, open: usize) -> bool {
        let code = self.body.code;
        let before = open.checked_sub(1);
        let before = before.and_then(|at| match code.at(at) {
            ">" => code.before_angles(at)?.checked_sub(1),
            _ => Some(at),
        });
        before.is_some_and(|at| code.at(at) == "*")
    }

    /// The bracket that is open at a token.
    fn enclosing(&self, at: usize) -> Option<usize> {
        let code = self.body.code;
        let mut at = at;
        while at > self.body.range.0 {
            at -= 1;
            match code.at(at) {
                ")" | "]" | "}" => at = code.partner(at).min(at),
                "(" => return Some(at),
                "[" | "{" | ";" => return None,
                _ => {}
            }
        }
        None
    }

    /// What a call does with the pointer at `at` among its arguments, and whether it may reach beyond
    /// the element there. `None` for brackets, casts and macros that stand for what they hold.
    fn called(&self, open: usize, at: usize) -> Option<(Access, bool)> {
        let code = self.body.code;
        let mut before = open.checked_sub(1)?;
        if code.at(before) == ">" {
            before = code.before_angles(before)?;
        }
        let name = code.word(before);
        let parts = code.split(open + 1, code.partner(open), false);
        let number = parts
            .iter()
            .position(|(from, to)| (*from..*to).contains(&at));
        let number = number.unwrap_or_default();
        let is_macro = !name.is_empty() && name.to_uppercase() == name && number == 0;
        if name.is_empty() || name.ends_with("_cast") || (is_macro && parts.len() == 1) {
            return None;
        }
        if ["if", "for", "while", "return", "sizeof"].contains(&name) {
            return Some((Access::Read, false));
        }
        let lower = name.to_lowercase();
        // A number and not its place.
        let is_number =
            (code.at(at + 1) == "[" && code.at(at - 1) != "&") || code.at(at - 1) == "*";
        Some(match (self.writes)(name, number) {
            _ if name.starts_with("atomic") && number == 0 => (Access::Update, false),
            Some(true) => (Access::Write, !is_number),
            Some(false) => (Access::Read, !is_number),
            None if (lower.contains("store") || lower.starts_with("__st")) && number == 0 => {
                (Access::Write, false)
            }
            None if lower.contains("load") || lower.starts_with("__ld") => (Access::Read, false),
            None if is_number => (Access::Read, false),
            None => (Access::Passed, true),
        })
    }

    /// The width of the type in `(float4*)p`, where `p` is at `at`.
    fn cast_before(&self, at: usize) -> Option<i128> {
        let code = self.body.code;
        let star = at.checked_sub(2)?;
        if code.at(at - 1) != ")" || code.at(star) != "*" {
            return None;
        }
        (self.body.width)(code.word(star.checked_sub(1)?)).map(|width| width as i128)
    }

    /// The width of the type in `reinterpret_cast<float4*>(`, whose bracket is at `open`.
    fn cast_at(&self, open: usize) -> Option<i128> {
        let code = self.body.code;
        let close = open.checked_sub(1)?;
        if code.at(close) != ">" {
            return None;
        }
        let star = (0..close).rev().find(|at| code.at(*at) == "*")?;
        (self.body.width)(code.word(star.checked_sub(1)?)).map(|width| width as i128)
    }
}
