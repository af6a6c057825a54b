//! When a tensor problem takes its sealed inputs out of the stock, and when it makes some for the
//! stock.

use super::TensorProblem;
use super::case_data::{CaseData, Drawing};
use super::file::{self, KeepCheck};
use super::reference::{self, ReferenceKernel};
use super::sealed_stock::{self, MOST_OF_A_SET, SealedSets, SealedStock, in_order};
use super::spec::ProblemSpec;
use crate::outcome::Stop;
use crate::problem::api::ProblemContext;
use lab_protocol::{Language, When};
use std::rc::Rc;

const TOO_LARGE: &str = "no sealed inputs are kept in stock: what the reference says of them takes too much space, so a keep makes them itself";

/// How a problem uses the stock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stocking {
    /// Not at all: the kernel could read the stock, or the user repeats a run.
    #[default]
    None,
    /// It makes sets for the next keep.
    Makes,
    /// It takes a set. The seed is that of the set, once taken.
    Takes(Option<u64>),
}

impl TensorProblem {
    /// Takes the inputs of this check out of the stock, so that no reference is needed. Returns
    /// false if there are none.
    pub fn take_from_stock(&mut self, cx: &mut ProblemContext) -> Result<bool, Stop> {
        let is_stocked = self.stocking == Stocking::Takes(None) && !cx.seed_is_fixed;
        let Some(stock) = is_stocked
            .then(|| self.stock(self.timed_when, cx))
            .transpose()?
            .flatten()
        else {
            return Ok(false);
        };
        let read = |seed: u64, content: &[u8]| {
            let spec = self.spec_of_keep(seed).ok()?;
            let cases = self.cases_of(&spec, self.when, cx.device);
            let device = cx.device;
            sealed_stock::read(&cases, Drawing { device, seed }, content)
        };
        let sets = match stock.take(read) {
            Ok(sets) => sets,
            Err(error) => {
                cx.out.text(&format!(
                    "no sealed inputs could be taken out of the stock: {error}"
                ))?;
                None
            }
        };
        let Some(sets) = sets else { return Ok(false) };
        let seed = sets.seed;
        self.spec = self.spec_of_keep(seed)?;
        self.chosen = self.cases_of(&self.spec, self.when, cx.device);
        self.ahead = sets.ahead(&self.chosen);
        self.stocking = Stocking::Takes(Some(seed));
        cx.out.line("seed", seed)?;
        Ok(true)
    }

    /// Makes sets for the next keep if the stock has none, as long as `is_idle` returns true.
    pub fn fill_stock(
        &mut self,
        cx: &mut ProblemContext,
        is_idle: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stop> {
        if self.stocking != Stocking::Makes || !is_idle() {
            return Ok(());
        }
        self.timed_when = self.when;
        let Some(stock) = self
            .stock(self.timed_when, cx)?
            .filter(|stock| !stock.is_filled())
        else {
            return Ok(());
        };
        let Some(sets) = self.make(cx, is_idle)? else {
            return Ok(());
        };
        match stock.store(&sets) {
            Ok(true) => {}
            Ok(false) => cx.out.text(TOO_LARGE)?,
            Err(error) => {
                cx.out.text(&format!(
                    "no sealed inputs could be put into the stock: {error}"
                ))?;
            }
        }
        Ok(())
    }

    /// The seed that the values of this run were drawn with.
    pub fn seed(&self, cx: &ProblemContext) -> u64 {
        match self.stocking {
            Stocking::Takes(Some(seed)) => seed,
            _ => cx.seed,
        }
    }

    /// The stock for a keep that times the workloads of this occasion, with a reference.cu. What a
    /// reference.py imports is not known, so it has none.
    fn stock(&self, timed: When, cx: &mut ProblemContext) -> Result<Option<SealedStock>, Stop> {
        if reference::language(&self.folder) != Language::Cuda {
            return Ok(None);
        }
        let image = ReferenceKernel::image(&self.spec, &self.folder, cx)?;
        let image = std::fs::read(&image)
            .map_err(|error| Stop::Lab(format!("cannot read {}: {error}", image.display())))?;
        Ok(Some(SealedStock::new(
            &self.spec,
            &self.text,
            &image,
            cx.device,
            timed,
            cx.cache_dir,
        )))
    }

    /// Draws sets with a secret seed, and computes what is expected of them. `None` if somebody
    /// waits, or if they are too large.
    fn make(
        &mut self,
        cx: &mut ProblemContext,
        is_idle: &mut dyn FnMut() -> bool,
    ) -> Result<Option<SealedSets>, Stop> {
        let seed = secret_seed();
        let spec = self.spec_of_keep(seed)?;
        let cases = self.cases_of(&spec, When::Keep, cx.device);
        let drawing = Drawing {
            device: cx.device,
            seed,
        };
        let (mut data, mut bytes) = (Vec::new(), 0);
        for (case, part) in in_order(&cases) {
            if !is_idle() {
                return Ok(None);
            }
            if bytes > MOST_OF_A_SET {
                cx.out.text(TOO_LARGE)?;
                return Ok(None);
            }
            let mut drawn = drawing.draw(&case, part, &mut self.reference)?;
            // They follow from the seed.
            drawn.sets = Vec::new();
            bytes += size(&drawn);
            data.push(drawn);
        }
        Ok(Some(SealedSets { seed, data }))
    }

    /// The problem with the shapes that this seed draws for a keep.
    pub(super) fn spec_of_keep(&self, seed: u64) -> Result<Rc<ProblemSpec>, Stop> {
        let check = KeepCheck {
            seed,
            timed: self.timed_when,
        };
        Ok(Rc::new(file::parse(&self.path(), &self.text, Some(check))?))
    }
}

fn size(data: &CaseData) -> usize {
    let all = [&data.expected, &data.after_steps]
        .into_iter()
        .flatten()
        .flatten()
        .flatten();
    all.map(Vec::len).sum()
}

/// A seed that no file holds: the standard library takes its hash keys from the system's random
/// numbers.
fn secret_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("sealed inputs")
}
