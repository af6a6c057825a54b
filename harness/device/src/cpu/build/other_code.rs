//! Whether a source is other code on a GPU: it is preprocessed once more with this device's macros
//! and once with those of NVRTC, and the words of both are compared.

use super::preprocessed::Preprocessed;
use super::unit::Unit;
use crate::api::Result;
use crate::cpu::headers::{NVRTC_MACROS, OWN_MACROS};
use itertools::EitherOrBoth::{self, Both, Left, Right};
use itertools::Itertools as _;
use std::path::Path;

impl Unit<'_> {
    /// Returns where a rewritten source is first other code on a GPU than here, as in
    /// `kernel.cu:26 is other code there`. `None` where it is the same.
    pub fn other_code(&self, source: &str) -> Result<Option<String>> {
        let path = self.write("compared.cpp", source)?;
        let here = self.words(&path, OWN_MACROS, &[])?;
        let there = self.words(&path, NVRTC_MACROS, &["-undef"])?;
        let place = first_difference(&here, &there);
        Ok(place.map(|place| format!("{place} is other code there")))
    }

    /// The words of a source with these macros. Behind an error, which only one of the devices may
    /// meet, the preprocessor goes on, or ends.
    fn words(&self, source: &Path, macros: &str, options: &[&str]) -> Result<Preprocessed> {
        // The options decide on macros too, such as __OPTIMIZE__.
        let mut command = self.compiler.command(&self.compiler.flags(false, None));
        command.args(["-w", "-E", "-x", "c++"]).args(options);
        command.arg("-include").arg(self.headers.join(macros));
        self.add_folders_and_users_options(&mut command);
        let output = self.compiler.run(command.arg(source))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Preprocessed::read(text, self.headers))
    }
}

/// Where the words of the user's files first differ.
fn first_difference(here: &Preprocessed, there: &Preprocessed) -> Option<String> {
    let pairs = users_words(here).zip_longest(users_words(there));
    let differ = |pair: &EitherOrBoth<Word, Word>| !matches!(pair, Both(a, b) if a.0 == b.0);
    let (file, line) = match pairs.into_iter().find(differ)? {
        // The device that has more code here comes to the next common word in a later line.
        Both((_, here), (_, there)) if here.0 == there.0 => here.min(there),
        Both((_, place), _) | Left((_, place)) | Right((_, place)) => place,
    };
    Some(format!("{file}:{line}"))
}

/// A word, and its file and line.
type Word<'t> = (&'t str, (&'t str, usize));

/// The words of the user's files. The lab's own header differs between
/// the devices, and its helpers give the same results on both.
fn users_words(text: &Preprocessed) -> impl Iterator<Item = Word<'_>> {
    let words = text.tokens.iter().enumerate();
    let users = words.filter(|(_, token)| !text.is_foreign(token.start));
    users
        .map(|(at, token)| (text.at(at), text.place(token.start)))
        .filter(|(_, (file, _))| *file != "lab.h")
}
