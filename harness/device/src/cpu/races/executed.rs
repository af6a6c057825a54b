//! Which instructions of a launch accessed memory, and which of them the detector looked at.

use super::report::Executed;

/// The largest image whose instructions are noted, in bytes.
const LARGEST_IMAGE: usize = 1 << 26;

/// A launch ran the instruction, and the detector looked at an access of it.
const WATCHED: u8 = 2;
/// A launch ran the instruction.
const RAN: u8 = 1;

/// A byte for each address of the image, as far as an instruction ran.
#[derive(Default)]
pub struct ExecutedInstructions(Vec<u8>);

impl ExecutedInstructions {
    /// The instruction before `pc` ran, counted from the image's beginning.
    #[inline]
    pub fn note(&mut self, pc: usize, is_watched: bool) {
        let mark = if is_watched { WATCHED } else { RAN };
        match self.0.get_mut(pc) {
            Some(known) => *known |= mark,
            None if pc < LARGEST_IMAGE => {
                self.0.resize(pc + 4096, 0);
                self.0[pc] = mark;
            }
            None => {}
        }
    }

    /// The noted instructions.
    pub fn list(&self) -> Executed {
        let marked = |wanted: &[u8]| {
            let marks = (0..).zip(&self.0);
            let marked = marks.filter(|(_, mark)| wanted.contains(mark));
            marked.map(|(pc, _)| pc).collect()
        };
        Executed {
            watched: marked(&[WATCHED, WATCHED | RAN]),
            unwatched: marked(&[RAN]),
        }
    }
}
