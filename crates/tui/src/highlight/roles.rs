//! The roles of source code.

use strum::VariantArray;
use syntect::parsing::{Scope, ScopeStack};

/// The role of a part of source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum SyntaxRole {
    Plain,
    /// `for`, `template`, `constexpr`, `lambda`
    Keyword,
    /// `__global__`, `__shared__`, `__launch_bounds__`, `LAB_LAUNCH`, `[[maybe_unused]]`,
    /// `@triton.jit`
    Qualifier,
    /// `float`, `uint4`, `__half2`, `cg::`, and `torch`, `tl` and their like before a dot
    Type,
    /// A name that the device or lab.h provides: `threadIdx`, `__shfl_down_sync`, `atomicAdd`,
    /// `sqrtf`, `lab_poll`; `range`, `len` of Python
    Builtin,
    /// A string or a character.
    Text,
    /// A number, and `true`, `nullptr`, `INFINITY`, `None`
    Number,
    Comment,
    /// `#include`, `#pragma unroll`, `import`
    Preprocessor,
    /// A name before a parenthesis, or a name that `#define` defines.
    Function,
    /// `<<<` and `>>>` of a launch. Other operators are plain, as in base16.
    Operator,
}

impl SyntaxRole {
    pub const ALL: &[SyntaxRole] = SyntaxRole::VARIANTS;

    /// Its scope in cuda.sublime-syntax and python.sublime-syntax.
    fn scope(self) -> Option<&'static str> {
        Some(match self {
            SyntaxRole::Plain => return None,
            SyntaxRole::Keyword => "keyword.cuda",
            SyntaxRole::Qualifier => "qualifier.cuda",
            SyntaxRole::Type => "type.cuda",
            SyntaxRole::Builtin => "builtin.cuda",
            SyntaxRole::Text => "string.cuda",
            SyntaxRole::Number => "number.cuda",
            SyntaxRole::Comment => "comment.cuda",
            SyntaxRole::Preprocessor => "preprocessor.cuda",
            SyntaxRole::Function => "function.cuda",
            SyntaxRole::Operator => "operator.cuda",
        })
    }
}

/// The role of each scope.
pub(super) struct Roles(Vec<(Scope, SyntaxRole)>);

impl Roles {
    pub fn new() -> Result<Self, String> {
        let named = SyntaxRole::ALL
            .iter()
            .filter_map(|role| Some((role.scope()?, *role)));
        let scopes = named.map(|(name, role)| Scope::new(name).map(|scope| (scope, role)));
        Ok(Roles(
            scopes
                .collect::<Result<_, _>>()
                .map_err(|e| format!("{e:?}"))?,
        ))
    }

    /// The role of the innermost scope that has one.
    pub fn of(&self, scopes: &ScopeStack) -> SyntaxRole {
        let role = |scope: &Scope| {
            self.0
                .iter()
                .find(|(known, _)| known == scope)
                .map(|(_, role)| *role)
        };
        scopes
            .scopes
            .iter()
            .rev()
            .find_map(role)
            .unwrap_or(SyntaxRole::Plain)
    }
}
