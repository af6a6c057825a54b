//! Whether a source is other code on a GPU: it is preprocessed once more with this device's macros
//! and once with those of NVRTC, and the words of both are compared.

use super::preprocessed::Preprocessed;
use super::unit::Unit;
use crate::api::Result;
use crate::cpu::headers::{NVRTC_MACROS, OWN_MACROS};
use std::ffi::OsString;
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
        let mut arguments = self.compiler.flags(false, None);
        let only_preprocess = ["-w", "-E", "-x", "c++"].iter().chain(options);
        arguments.extend(only_preprocess.map(OsString::from));
        arguments.extend(["-include".into(), self.headers.join(macros).into()]);
        arguments.extend(self.folders_and_users_options());
        arguments.push(source.into());
        let output = self.compiler.run(&arguments)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Preprocessed::read(text, self.headers))
    }
}

/// Where the words of the user's files first differ.
fn first_difference(here: &Preprocessed, there: &Preprocessed) -> Option<String> {
    let (mine, theirs) = (users(here), users(there));
    let differ =
        |i: &usize| mine.get(*i).map(|at| here.at(*at)) != theirs.get(*i).map(|at| there.at(*at));
    let first = (0..mine.len().max(theirs.len())).find(differ)?;
    let place = |text: &Preprocessed, at: Option<&usize>| {
        let (file, line) = text.place(text.tokens[*at?].start);
        Some((file.to_owned(), line))
    };
    // The device that has more code here comes to the next common word in a later line.
    let mut places: Vec<(String, usize)> = [
        place(here, mine.get(first)),
        place(there, theirs.get(first)),
    ]
    .into_iter()
    .flatten()
    .collect();
    places.sort_by(|(file, line), (other, of_other)| {
        if file == other {
            line.cmp(of_other)
        } else {
            std::cmp::Ordering::Equal
        }
    });
    let (file, line) = places.first()?;
    Some(format!("{file}:{line}"))
}

/// The tokens of the user's files. The lab's own header differs between the devices, and its helpers
/// give the same results on both.
fn users(text: &Preprocessed) -> Vec<usize> {
    let is_users = |at: &usize| {
        let start = text.tokens[*at].start;
        !text.is_foreign(start) && text.place(start).0 != "lab.h"
    };
    (0..text.tokens.len()).filter(is_users).collect()
}
